"""What all tests share: properties are tried without a clock, since a busy machine is not a fault."""

from hypothesis import settings

settings.register_profile("without a clock", deadline=None)
settings.load_profile("without a clock")
