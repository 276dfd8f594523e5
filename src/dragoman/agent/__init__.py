"""The loop: ask the model, run what it calls, ask again, and stop for a reason that has a name."""

from dragoman.agent.agent import Agent as Agent
from dragoman.agent.drive import AgentEvent as AgentEvent
from dragoman.agent.drive import AsyncModel as AsyncModel
from dragoman.agent.drive import RunResult as RunResult
from dragoman.agent.drive import SyncModel as SyncModel
from dragoman.agent.drive import astream_assistant as astream_assistant
from dragoman.agent.drive import stream_assistant as stream_assistant
from dragoman.agent.run import Answer as Answer
from dragoman.agent.run import Done as Done
from dragoman.agent.run import Limits as Limits
from dragoman.agent.run import NeedModel as NeedModel
from dragoman.agent.run import NeedTools as NeedTools
from dragoman.agent.run import OpenCall as OpenCall
from dragoman.agent.run import Outcome as Outcome
from dragoman.agent.run import Run as Run
from dragoman.agent.run import ToolEnd as ToolEnd
from dragoman.agent.run import ToolStart as ToolStart
