"""A program of tinyLangChain's shape: which shelf needs filling, by two tools and one question.

Run it against any Chat Completions server:

    OPENAI_API_BASE=http://127.0.0.1:8080/v1 OPENAI_API_KEY=none python examples/tinylangchain/stock.py
"""

from typing import Literal

from pydantic import BaseModel, Field

from dragoman.tinylangchain import LLM, create_agent, tool

SHELVES = {"tea": 3, "coffee": 40, "米": 0}


class ShelfArgs(BaseModel):
    """Which shelf."""

    item: Literal["tea", "coffee", "米"] = Field(description="what stands on the shelf")


class OrderArgs(BaseModel):
    """What to order."""

    item: str = Field(description="what to order")
    boxes: int = Field(description="how many boxes", ge=1)


@tool
def stock(args: ShelfArgs):
    """How many boxes of an item there are."""
    return SHELVES[args.item]


@tool
def order(args: OrderArgs):
    """Order boxes of an item."""
    return f"ordered {args.boxes} x {args.item}"


if __name__ == "__main__":
    agent = create_agent(model=LLM(model="qwen-plus", temperature=0), tools=[stock, order])
    question = {"role": "user", "content": "Order ten boxes of whatever has run out."}
    for history in agent.run(question):
        print(history[-1])
