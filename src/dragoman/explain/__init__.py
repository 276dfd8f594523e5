"""What a refusal means: its cause, its place in the request, how to mend it, and what it teaches of the server."""

from dragoman.explain.causes import Cause as Cause
from dragoman.explain.causes import causes as causes
from dragoman.explain.explain import Asked as Asked
from dragoman.explain.explain import explain as explain
from dragoman.explain.lessons import Lesson as Lesson
from dragoman.explain.lessons import lesson as lesson
