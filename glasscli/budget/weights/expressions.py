"""Arithmetic in an outline: `H * E`, `i < first_k_dense_replace`, `up(intermediate_size / 3, 64)`.

A small part of Python's own grammar, evaluated over names that the caller looks up. A division has to come out
even, for no tensor has half a row; absent and null count as 0, true as 1.
"""

import ast
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from glasscli.errors import ConfigError

Lookup = Callable[[str], Any]


@cache
def parsed(text: str) -> ast.expr:
    """`text` as a tree; it is our own, so a slip in it is an assertion of the tests."""
    return ast.parse(text, mode="eval").body


def value(text: str, look_up: Lookup) -> Any:
    """What `text` comes to. Raises ConfigError where a division leaves a rest or an operand is no number."""
    try:
        return _value(parsed(text), look_up)
    except ConfigError:
        raise
    except (TypeError, ZeroDivisionError, IndexError, KeyError, OverflowError):
        raise ConfigError(f"{text}: can't be computed from what the config says") from None


def up(number: int, step: int) -> int:
    """`number` rounded up to a multiple of `step`."""
    return -(-number // step) * step


def at(listed: Any, i: int) -> Any:
    """Entry `i` of a list, or the value that holds for every layer."""
    return listed[i] if isinstance(listed, list) else listed


def length(listed: list[Any] | None) -> int:
    """Entries of a list; none where there is no list."""
    return len(listed or ())


def either(first: Any, other: Any) -> Any:
    """`first`, or `other` where it is null: 0 and false count."""
    return other if first is None else first


def many(listed: Any) -> bool:
    """Whether a field says a list."""
    return isinstance(listed, list)


def count(listed: list[Any], word: str) -> int:
    """How often `word` stands in a list."""
    return listed.count(word)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "up": up,
    "max": max,
    "min": min,
    "int": int,
    "len": length,
    "sum": sum,
    "at": at,
    "count": count,
    "many": many,
    "either": either,
}


def _value(tree: ast.expr, look_up: Lookup) -> Any:
    match tree:
        case ast.Constant(value=constant):
            return constant
        case ast.Name(id=name):
            return look_up(name)
        case ast.Attribute(value=ast.Name(id=outer), attr=inner):
            return look_up(f"{outer}.{inner}")
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=outer), attr=middle), attr=inner):
            return look_up(f"{outer}.{middle}.{inner}")
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, _value(left, look_up), _value(right, look_up), tree)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, look_up)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, look_up)
        case ast.BoolOp(op=op, values=values):
            return _either(op, values, look_up)
        case ast.Compare(left=left, ops=[comparison], comparators=[right]):
            return _compare(comparison, _value(left, look_up), _value(right, look_up))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body if _value(test, look_up) else orelse, look_up)
        case ast.Subscript(value=listed, slice=index):
            return _value(listed, look_up)[_value(index, look_up)]
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return FUNCTIONS[name](*(_value(argument, look_up) for argument in arguments))
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, look_up) for item in items]
    raise AssertionError(ast.unparse(tree))


def _either(op: ast.boolop, values: list[ast.expr], look_up: Lookup) -> Any:
    """As Python's own `and` and `or`: the last operand that had to be looked at."""
    found: Any = None
    for tree in values:
        found = _value(tree, look_up)
        if bool(found) == isinstance(op, ast.Or):
            return found
    return found


def _binary(op: ast.operator, left: Any, right: Any, tree: ast.expr) -> Any:
    left, right = (0 if operand is None else operand for operand in (left, right))
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv():
            return left // right
        case ast.Mod():
            return left % right
        case ast.Pow():
            return left**right
        case ast.Div():
            if isinstance(left, int) and isinstance(right, int) and left % right:
                raise ConfigError(f"{ast.unparse(tree)}: {left} is not divisible by {right}")
            return left // right if isinstance(left, int) and isinstance(right, int) else left / right
    raise AssertionError(ast.unparse(tree))


def _compare(op: ast.cmpop, left: Any, right: Any) -> bool:
    match op:
        case ast.Eq():
            return bool(left == right)
        case ast.NotEq():
            return bool(left != right)
        case ast.Lt():
            return bool((left or 0) < (right or 0))
        case ast.LtE():
            return bool((left or 0) <= (right or 0))
        case ast.Gt():
            return bool((left or 0) > (right or 0))
        case ast.GtE():
            return bool((left or 0) >= (right or 0))
        case ast.In():
            return left in (right or ())
        case ast.NotIn():
            return left not in (right or ())
    raise AssertionError(type(op).__name__)
