"""Jinja2's sandbox, as chat templates need it. The one module that imports Jinja2, which is an extra."""

from typing import Any

import jinja2.exceptions
import jinja2.ext
import jinja2.nodes
import jinja2.parser
import jinja2.sandbox

LONGEST = 1024**2  # items of a text or list that is repeated
LONGEST_NUMBER = 4096  # bits


class _WrittenByTheModel(jinja2.ext.Extension):
    """`{% generation %} … {% endgeneration %}`, which marks for training what the model wrote: here it is only text."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        """The statements in between; what they set stays among them."""
        line = next(parser.stream).lineno
        return jinja2.nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)


class Sandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """No attributes with underscores, no change of what is given, and no numbers or repeats that take for ever."""

    intercepted_binops = frozenset({"*", "**"})

    def __init__(self) -> None:
        extensions = [jinja2.ext.loopcontrols, _WrittenByTheModel]
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=extensions)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """`*` and `**`, refused where the result would not be bearable."""
        if isinstance(left, int) and isinstance(right, int):
            n_bits = left.bit_length() * right if operator == "**" else left.bit_length() + right.bit_length()
            if n_bits > LONGEST_NUMBER:
                raise jinja2.exceptions.SecurityError(f"a number of more than {LONGEST_NUMBER:,} bits")
        for many, times in ((left, right), (right, left)):
            if isinstance(many, str | list | tuple) and isinstance(times, int) and len(many) * times > LONGEST:
                raise jinja2.exceptions.SecurityError(f"a repeat of more than {LONGEST:,} items")
        return super().call_binop(context, operator, left, right)
