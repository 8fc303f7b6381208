"""From data to label orders."""

from montechain.ordering.evaluator import OrderEvaluator
from montechain.ordering.orders import AllOrders, BeamOrder, OrderFinder, SearchResult, check_order
from montechain.ordering.proposals import Swap, TemperedSwap
from montechain.ordering.search import OrderSearch, OrderStep, search

__all__ = [
    "AllOrders",
    "BeamOrder",
    "OrderEvaluator",
    "OrderFinder",
    "OrderSearch",
    "OrderStep",
    "SearchResult",
    "Swap",
    "TemperedSwap",
    "check_order",
    "search",
]
