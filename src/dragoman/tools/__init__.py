"""What a model may call: typed functions and the built-in tools."""

from dragoman.tools.base import Access as Access
from dragoman.tools.base import AnyTool as AnyTool
from dragoman.tools.base import ToolError as ToolError
from dragoman.tools.base import ToolOutput as ToolOutput
from dragoman.tools.base import Traits as Traits
from dragoman.tools.coding import coding_tools as coding_tools
from dragoman.tools.files import read_tool as read_tool
from dragoman.tools.function import FunctionTool as FunctionTool
from dragoman.tools.function import tool as tool
from dragoman.tools.result import Bounds as Bounds
