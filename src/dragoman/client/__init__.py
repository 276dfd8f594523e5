"""A model to talk to: a name becomes a Target, arguments a Request, an exchange a Reply or a stream of events."""

from dragoman.client.attempts import Attempt as Attempt
from dragoman.client.call import Outcome as Outcome
from dragoman.client.call import Producer as Producer
from dragoman.client.count import Count as Count
from dragoman.client.form import Structured as Structured
from dragoman.client.forward import Forward as Forward
from dragoman.client.model import AsyncModel as AsyncModel
from dragoman.client.model import Model as Model
from dragoman.client.observe import Exchanged as Exchanged
from dragoman.client.observe import Observer as Observer
from dragoman.client.options import Options as Options
from dragoman.client.plan import Plan as Plan
from dragoman.client.stream import AsyncModelStream as AsyncModelStream
from dragoman.client.stream import ModelStream as ModelStream
