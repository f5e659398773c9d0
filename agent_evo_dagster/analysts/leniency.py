"""How answers of services are read: the fields that are needed; faults are told without a word of them."""

from pydantic import BaseModel, ConfigDict, ValidationError


class Lenient(BaseModel):
    """Part of an answer: what is not named here is not needed."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def problems(error: ValidationError) -> str:
    """What is wrong with an answer, without a word of it."""
    details = error.errors(include_url=False, include_input=False)[:3]
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'body'}: {one['msg']}" for one in details)
