"""From data to label orders."""

from montechain.ordering.evaluator import OrderEvaluator
from montechain.ordering.orders import AllOrders, BeamOrder, OrderFinder, SearchResult, check_order
from montechain.ordering.payoffs import PAYOFFS
from montechain.ordering.proposals import Insertion, Proposal, Swap, TemperedSwap
from montechain.ordering.search import OrderSearch, OrderStep, search, search_progress

__all__ = [
    "PAYOFFS",
    "AllOrders",
    "BeamOrder",
    "Insertion",
    "OrderEvaluator",
    "OrderFinder",
    "OrderSearch",
    "OrderStep",
    "Proposal",
    "SearchResult",
    "Swap",
    "TemperedSwap",
    "check_order",
    "search",
    "search_progress",
]
