"""What an evaluation is for and who answers for it: for the audit page, and part of no request."""

from pydantic import Field

from basic_control.data.options import Frozen


class About(Frozen):
    """What an evaluation is for, and who answers for it; `audit` shows it, with empty lines where it is silent."""

    purpose: str = Field("", description="what the models are to be used for")
    owner: str = Field("", description="who tested, and answers for it: a name, a team")
    decision: str = Field("", description="what is decided by it, such as a release")
    population: str = Field("", description="what the questions stand for, such as tickets of the last quarter")
    data_licence: str = Field("", description="the licence of the data")
