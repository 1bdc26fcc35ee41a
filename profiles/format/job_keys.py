"""What jobs of a queue are asked for besides nodes and devices, by an inventory or a profile."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from profiles.format.field_types import Duration

_Value = Annotated[str, Field(pattern=r"\A[\x21-\x7e]*\Z")]
_Word = Annotated[str, Field(pattern=r"\A[\x20-\x7e]*\Z")]


class JobKeys(BaseModel):
    """Words of sbatch(1). ``time``: of a job, in place of what its run may take; ``patience``: for
    so long it waits for somebody to start the run."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, regex_engine="python-re")

    partition: _Value = Field(default="", description="give a partition, or several: a,b")
    account: _Value = Field(default="", description="give an account")
    qos: _Value = Field(default="", description="give a quality of service")
    reservation: _Value = Field(default="", description="give a reservation")
    constraint: _Value = Field(default="", description="give features like a100&ib")
    nodelist: _Value = Field(default="", description="give nodes like node[1-4]")
    exclude: _Value = Field(default="", description="give nodes like node[1-4]")
    nice: int | None = Field(default=None, description="give a number")
    time: Duration | None = Field(default=None, description='give a duration like "2h"')
    patience: Duration = Field(default="15m", description='give a duration like "15m"')
    exclusive: bool = Field(default=True, description="write true or false")
    requeue: bool = Field(default=False, description="write true or false")
    extra: Annotated[tuple[_Word, ...], Field(strict=False)] = Field(
        default=(), description='write a list of options of sbatch like ["--switches=1"]'
    )
