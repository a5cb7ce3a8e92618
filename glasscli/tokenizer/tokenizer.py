"""First and last stop of a prompt: text in, token ids out, and back, a token at a time.

The `tokenizers` package splits texts; turning ids back into text is done here, on bytes, because a stream must
neither split a character nor swallow one that was cut off. It knows no model.

A tokenizer.json from a stranger can make the package take up to 64 times its size in memory (measured; a file of one
merge repeated), and is refused past 64 MiB, or if its steps could make a text 10,000 times as long. A regular
expression in it can make splitting slow; nothing in it is run.
"""

import codecs
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glasscli.errors import TokenizerError, UsageError
from glasscli.tokenizer.limits import check_growth
from glasscli.tokenizer.pieces import Spelling, label_of
from glasscli.untrusted_files import disguise, file_inside, plain, read_limited

if TYPE_CHECKING:
    import tokenizers

TOKENIZER = "tokenizer.json"
_LONG = 100_000  # characters
_LIMIT = 64 * 1024**2  # bytes; the largest vocabularies in use (256,000 tokens) take 35 MB


class Tokenizer:
    """Text to token ids and back, as one tokenizer.json says.

    Encoding follows the file's own template: if it puts a mark of the beginning in front, so does `encode`.
    Names of special tokens in a text are plain text unless asked for.

    Attributes:
        kind: what it is, in words.
        vocab_size: how many tokens there are, added ones included.
        special_ids: ids of tokens that stand for no text, such as the end of a text.
        added_ids: those and others that stand beside the vocabulary that was learnt.
        special_names: the names of those of `special_ids`.
        unknown_id: what stands for a piece of text that has no token, or None if every text has tokens.
        spelling: how the vocabulary's strings become bytes.
    """

    def __init__(self, backend: "tokenizers.Tokenizer", source: str = TOKENIZER) -> None:
        backend.no_truncation()  # a file may ask for either; a prompt is never cut or filled in silence
        backend.no_padding()
        if getattr(backend.model, "dropout", None):
            backend.model.dropout = None  # the same text must always give the same ids
        self._backend = backend
        self._source = source
        check_growth(backend, source)
        decoder = backend.decoder
        self.spelling = Spelling.from_decoder(decoder and decoder.__getstate__(), source)
        added = backend.get_added_tokens_decoder()
        self._added = {token_id: token.content for token_id, token in added.items()}
        self.added_ids = frozenset(added)
        self.special_ids = frozenset(token_id for token_id, token in added.items() if token.special)
        self.special_names = frozenset(self._added[token_id] for token_id in self.special_ids)
        unknown = getattr(backend.model, "unk_token", None)
        self.unknown_id: int | None = None if unknown is None else backend.token_to_id(unknown)
        way = "byte-level" if self.spelling.bytes_of else "SentencePiece-style"
        self.kind = f"{way} {type(backend.model).__name__}"
        self.vocab_size: int = backend.get_vocab_size()

    @classmethod
    def from_file(cls, path: str | Path) -> "Tokenizer":
        """The tokenizer that a tokenizer.json describes.

        Raises:
            TokenizerError: the file is missing, longer than 64 MiB, damaged, or of a kind that glass can't decode.
        """
        import tokenizers

        path = Path(path)
        path = file_inside(path.parent, path.name, TokenizerError)
        data = read_limited(path, _LIMIT, TokenizerError)
        if (found := disguise(data[:512], len(data))) is not None:
            raise TokenizerError(f"{path} {found}")
        try:
            with _quiet():
                backend = tokenizers.Tokenizer.from_str(data.decode())
        except BaseException as error:
            if not _is_of_tokenizers(error):
                raise
            raise TokenizerError(f"{path}: is no valid tokenizer.json ({plain(str(error))})") from None
        return cls(backend, str(path))

    def encode(self, text: str, *, parse_special: bool = False, framed: bool = True) -> list[int]:
        """The ids of `text`, with what the tokenizer's template adds.

        Args:
            parse_special: whether names of special tokens (`<|endoftext|>`) stand for those tokens; else they are text.
            framed: False for a text that has its marks already: the template adds nothing.

        Raises:
            UsageError: the text holds half a surrogate pair, which no UTF-8 can carry.
            TokenizerError: the tokenizer failed on it.
        """
        return list(self._encoded(text, parse_special, framed, ids_alone=True).ids)

    def encoding(self, text: str, *, parse_special: bool = False, framed: bool = True) -> "tokenizers.Encoding":
        """As `encode`, with all that the `tokenizers` package tells: words, offsets."""
        return self._encoded(text, parse_special, framed)

    def _encoded(self, text: str, parse_special: bool, framed: bool, ids_alone: bool = False) -> "tokenizers.Encoding":
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                f"the text is not valid Unicode: half a surrogate pair (U+{ord(text[error.start]):04X}) "
                f"at character {error.start + 1}"
            ) from None
        self._backend.encode_special_tokens = not parse_special
        try:
            with _quiet():
                if ids_alone and len(text) >= _LONG:  # a third of the time; for short texts threads cost more
                    return self._backend.encode_batch_fast([text], add_special_tokens=framed)[0]
                return self._backend.encode(text, add_special_tokens=framed)
        except BaseException as error:
            if not _is_of_tokenizers(error):
                raise
            raise TokenizerError(f"{self._source}: can't split this text ({plain(str(error))})") from None

    def decode(self, token_ids: Iterable[int], skip_special: bool = True) -> str:
        """The text of `token_ids`; bytes that are no UTF-8 become U+FFFD.

        Raises:
            TokenizerError: no token has one of the ids.
        """
        stream = self.stream(skip_special=skip_special)
        return "".join([*map(stream.push, token_ids), stream.finish()])

    def stream(self, after: Sequence[int] = (), skip_special: bool = True) -> "StreamDecoder":
        """A decoder for tokens that arrive one by one, after those of `after`, which it does not repeat."""
        decoder = StreamDecoder(self, skip_special)
        for token_id in after:
            decoder.push(token_id)
        return decoder

    def piece(self, token_id: int) -> str:
        """The token as the vocabulary spells it, such as `Ġthe`.

        Raises:
            TokenizerError: no token has this id.
        """
        found = self._backend.id_to_token(token_id) if 0 <= token_id < 2**32 else None
        if found is None:
            raise TokenizerError(f"{self._source}: no token has the id {token_id}")
        return found

    def id_of(self, name: str) -> int | None:
        """The id of a special or added token by its name, such as `<|endoftext|>`; None if there is none."""
        found: int | None = self._backend.token_to_id(name)
        return found if found in self.added_ids else None

    def special_in(self, text: str) -> list[str]:
        """The names of special tokens that stand in `text`, each once, in order."""
        names = self.special_names
        lengths, firsts = {len(name) for name in names}, "".join(map(re.escape, {name[0] for name in names if name}))
        starts = [match.start() for match in re.finditer(f"[{firsts}]", text)] if firsts else []
        found = (text[at : at + length] for at in starts for length in lengths)
        return list(dict.fromkeys(name for name in found if name in names))

    def piece_bytes(self, token_id: int, first: bool = False) -> bytes:
        """The bytes of one token; of a special or added token, its name.

        Args:
            first: the token opens a text; some tokenizers then drop the space they put there.

        Raises:
            TokenizerError: no token has this id.
        """
        if token_id in self._added:
            return self._added[token_id].encode()
        return self.spelling.piece_bytes(self.piece(token_id), first)

    def label(self, token_id: int, ascii_only: bool = False) -> str:
        """One token as a screen can show it: `·the`, `⏎`, `<0xE2>`. See `pieces.label_of`."""
        return label_of(self.piece_bytes(token_id), ascii_only)

    def model_state(self) -> dict[str, Any]:
        """The learnt part of the tokenizer.json: its type, vocabulary, merges. Large, and built anew each time."""
        state: dict[str, Any] = json.loads(self._backend.model.__getstate__())
        return state

    def unused_ids(self, n_rows: int) -> list[int]:
        """Which of the ids 0 … n_rows−1 are no token: rows that only pad an embedding."""
        return [token_id for token_id in range(n_rows) if self._backend.id_to_token(token_id) is None]


class StreamDecoder:
    """Turns token ids into text as they come. A character is given out when its last byte has arrived.

    What all `push` and the `finish` return, put together, is what `Tokenizer.decode` returns.
    """

    def __init__(self, tokenizer: Tokenizer, skip_special: bool = True) -> None:
        self._tokenizer = tokenizer
        self._skipped = tokenizer.special_ids if skip_special else frozenset[int]()
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._first = True
        self._to_strip = tokenizer.spelling.strip

    def push(self, token_id: int) -> str:
        """The characters that this token completes, often all of its own, sometimes none."""
        if token_id in self._skipped:
            return ""
        data = self._tokenizer.piece_bytes(token_id, self._first)
        self._first = False
        if self._to_strip and data:
            kept = data.lstrip(b" ") if len(data) - len(data.lstrip(b" ")) <= self._to_strip else data[self._to_strip :]
            self._to_strip = 0 if kept else self._to_strip - len(data)
            data = kept
        return self._utf8.decode(data)

    def finish(self) -> str:
        """What is left at the end: U+FFFD if the last character was cut off, else nothing."""
        return self._utf8.decode(b"", True)


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """The tokenizer of a model folder.

    Raises:
        TokenizerError: see `Tokenizer.from_file`.
    """
    folder = Path(folder)
    if not (folder / TOKENIZER).exists() and (folder / "tokenizer.model").exists():
        raise TokenizerError(
            f"{folder}: has tokenizer.model and no {TOKENIZER}; glass reads {TOKENIZER}, which transformers can write"
        )
    return Tokenizer.from_file(folder / TOKENIZER)


def _is_of_tokenizers(error: BaseException) -> bool:
    """Whether the Rust side failed: it raises plain `Exception`, and on a bug PanicException, which is none."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


@contextmanager
def _quiet() -> Iterator[None]:
    """Send nowhere what the Rust side prints when it fails on a bug: it writes to the process's stderr, past Python.

    The failure itself arrives as an exception, from which a message of ours is made.
    """
    try:
        kept = os.dup(2)
    except OSError:  # stderr is closed
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
