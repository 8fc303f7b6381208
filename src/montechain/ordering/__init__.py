"""From data to label orders."""

from montechain.ordering.acceptance import Acceptance, Metropolis, NotWorse, Strict, check_acceptance
from montechain.ordering.construction import AllOrders, BeamOrder, SubsetOrder, local_optima
from montechain.ordering.evaluator import OrderEvaluator, OrderFinder
from montechain.ordering.link_cache import LinkCache
from montechain.ordering.orders import SearchResult, check_order
from montechain.ordering.payoffs import PAYOFFS, check_payoff
from montechain.ordering.progress import search_progress
from montechain.ordering.proposals import Insertion, LocalSwap, Proposal, Swap, TemperedSwap, check_proposal
from montechain.ordering.search import OrderSearch, OrderStep, search

__all__ = [
    "PAYOFFS",
    "Acceptance",
    "AllOrders",
    "BeamOrder",
    "Insertion",
    "LinkCache",
    "LocalSwap",
    "Metropolis",
    "NotWorse",
    "OrderEvaluator",
    "OrderFinder",
    "OrderSearch",
    "OrderStep",
    "Proposal",
    "SearchResult",
    "Strict",
    "SubsetOrder",
    "Swap",
    "TemperedSwap",
    "check_acceptance",
    "check_order",
    "check_payoff",
    "check_proposal",
    "local_optima",
    "search",
    "search_progress",
]
