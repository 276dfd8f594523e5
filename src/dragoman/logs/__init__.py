"""Session logs of other agents, read into sessions of ours."""

from dragoman.logs.read import Log as Log
from dragoman.logs.read import read as read
from dragoman.logs.read import write as write
