"""A calculator of exact numbers: `+ - * /` and parentheses, bounded before it computes.

Expressions are read by a grammar of its own; nothing is ever evaluated as code.
"""

import re
from fractions import Fraction

MAX_LENGTH = 64
MAX_DIGITS = 12
MAX_DEPTH = 16
MAX_SIZE = 10**15
_TOKEN = re.compile(r"\s*(?:([0-9]+)|([-+*/()]))")


class CalculatorError(ValueError):
    """An expression that the calculator refuses. The message never quotes the expression."""


def calculate(expression: str) -> Fraction:
    """The exact value of `expression`.

    Raises:
        CalculatorError: too long, not arithmetic, a division by zero, or a number beyond the bounds.
    """
    return _Reader(_tokens(expression)).value()


def _tokens(expression: str) -> list[str]:
    if len(expression) > MAX_LENGTH:
        raise CalculatorError("the expression is too long")
    tokens, at, text = [], 0, expression.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise CalculatorError("the expression is not arithmetic")
        number, sign = match.groups()
        if number and len(number) > MAX_DIGITS:
            raise CalculatorError("a number is too large")
        tokens.append(number or sign)
        at = match.end()
    return tokens


def _bounded(value: Fraction) -> Fraction:
    # Operands are bounded as well, so a product is small before it is compared.
    if abs(value.numerator) > MAX_SIZE or value.denominator > MAX_SIZE:
        raise CalculatorError("a number is too large")
    return value


class _Reader:
    """Recursive descent over tokens; each level returns the value of what it has read."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def value(self) -> Fraction:
        result = self._sum()
        if self._at < len(self._tokens):
            raise CalculatorError("the expression is not arithmetic")
        return result

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _sum(self) -> Fraction:
        result = self._product()
        while self._peek() in ("+", "-"):
            sign = self._next()
            term = self._product()
            result = _bounded(result + term if sign == "+" else result - term)
        return result

    def _product(self) -> Fraction:
        result = self._factor()
        while self._peek() in ("*", "/"):
            sign = self._next()
            factor = self._factor()
            if sign == "/" and factor == 0:
                raise CalculatorError("division by zero")
            result = _bounded(result * factor if sign == "*" else result / factor)
        return result

    def _factor(self) -> Fraction:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise CalculatorError("the expression is nested too deeply")
        token = self._next()
        if token in ("+", "-"):
            result = self._factor() if token == "+" else -self._factor()
        elif token == "(":
            result = self._sum()
            if self._next() != ")":
                raise CalculatorError("a parenthesis is not closed")
        elif token.isdigit():
            result = Fraction(int(token))
        else:
            raise CalculatorError("the expression is not arithmetic")
        self._depth -= 1
        return result
