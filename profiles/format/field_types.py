"""The kinds of values that profiles are made of, checked as they are read."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from profiles.format.validators import (
    check_case_tag,
    check_condition,
    check_duration,
    check_expected,
    check_name,
    check_pattern,
    check_words,
)

Name = Annotated[str, AfterValidator(check_name)]
Duration = Annotated[str, AfterValidator(check_duration)]
Expected = Annotated[str, AfterValidator(check_expected)]
CaseTag = Annotated[str, AfterValidator(check_case_tag)]
Condition = Annotated[str, AfterValidator(check_condition)]
Command = Annotated[str, AfterValidator(check_words)]
Pattern = Annotated[str, AfterValidator(check_pattern)]
Count = Annotated[int, Field(ge=0, strict=True)]


class Model(BaseModel):
    """A frozen value whose unknown keys are errors and whose numbers are not guessed from text."""

    # Validators are built when the first profile is read, not when the console starts.
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)
