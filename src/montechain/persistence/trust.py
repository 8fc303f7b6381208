"""The types that a model file may hold."""

from __future__ import annotations

__all__ = ["OWN_TYPES", "PINNED", "TRUSTED"]

TREE = "sklearn.tree._tree.Tree"
"""The nodes of scikit-learn's trees: compiled code, so their content is checked as well."""

OWN_TYPES = frozenset(
    {
        # estimators
        "montechain.estimators.chain.ChainClassifier",
        "montechain.estimators.clustering_forest.ClusteringForestClassifier",
        "montechain.estimators.dependency_network.DependencyNetworkClassifier",
        "montechain.estimators.label_powerset.LabelPowersetClassifier",
        "montechain.estimators.majority.MajorityClassifier",
        "montechain.estimators.population.ChainPopulationClassifier",
        "montechain.estimators.table.TableClassifier",
        "montechain.preparation.TableEncoder",
        # what they have learned
        "montechain._columns.Column",
        "montechain._transformers.QuantileClip",
        "montechain._transformers.WordSpelling",
        "montechain._targets.table.TargetFormat",
        "montechain._targets.types.ColumnType",
        "montechain.chain.Chain",
        "montechain.dependency_network.DependencyNetwork",
        "montechain.links.estimator.FittedEstimatorLink",
        "montechain.links.linear.FittedLinearLink",
        "montechain.population.base.Population",
        # how links are learned
        "montechain.links.estimator.EstimatorLink",
        "montechain.links.logistic.LogisticLink",
        "montechain.links.svm.SVMLink",
        # strategies of inference
        "montechain.inference.beam.Beam",
        "montechain.inference.branch_and_bound.BranchAndBound",
        "montechain.inference.epsilon.EpsilonApproximate",
        "montechain.inference.exhaustive.Exhaustive",
        "montechain.inference.greedy.Greedy",
        "montechain.inference.monte_carlo.MonteCarlo",
        # losses
        "montechain.losses.CallableLoss",
        "montechain.losses.ExactMatch",
        "montechain.losses.F1",
        "montechain.losses.Hamming",
        "montechain.losses.Jaccard",
        # combinations
        "montechain.population.algorithm_4.Algorithm4",
        "montechain.population.mixture.Mixture",
        "montechain.population.vote.Vote",
        # orders
        "montechain.ordering.acceptance.Metropolis",
        "montechain.ordering.acceptance.NotWorse",
        "montechain.ordering.acceptance.Strict",
        "montechain.ordering.construction.AllOrders",
        "montechain.ordering.construction.BeamOrder",
        "montechain.ordering.construction.SubsetOrder",
        "montechain.ordering.order_search.OrderSearch",
        "montechain.ordering.proposals.insertion.Insertion",
        "montechain.ordering.proposals.local_swap.LocalSwap",
        "montechain.ordering.proposals.swap.Swap",
        "montechain.ordering.proposals.tempered_swap.TemperedSwap",
    }
)
"""Classes of montechain that occur in models, one by one: no function, and nothing by the name of its module alone."""

SCIKIT_LEARN_TYPES = frozenset(
    {
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    }
)
"""Parts of scikit-learn's estimators that skops does not list: plain numbers and the arithmetic on them, and the trees
of its histogram boosting, whose content is checked."""

SCORES = frozenset(
    {
        "sklearn.feature_selection._univariate_selection.chi2",
        "sklearn.feature_selection._univariate_selection.f_classif",
    }
)
"""Functions by which scikit-learn selects features: sums over two arrays."""

NUMPY_SCALARS = frozenset(
    f"numpy.{name}"
    for name in (
        "bool", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "longlong", "ulonglong", "float16", "float32", "float64", "str_", "bytes_", "datetime64", "timedelta64",
    )
)  # fmt: skip

SPARSE_TYPES = frozenset(
    f"scipy.sparse._{kind}.{kind}_{shape}" for kind in ("csr", "csc", "coo") for shape in ("matrix", "array")
)
"""Compiled code as well: their indices are checked."""

PINNED: dict[str, frozenset[str]] = {
    "BytearrayNode": frozenset({"builtins.bytearray"}),
    "BytesNode": frozenset({"builtins.bytes"}),
    "DTypeNode": frozenset({"numpy.dtype"}),
    "DefaultDictNode": frozenset({"collections.defaultdict"}),
    "DictNode": frozenset({"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"}),
    "JsonNode": frozenset({"builtins.str"}),
    "ListNode": frozenset({"builtins.list"}),
    "MaskedArrayNode": frozenset({"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"}),
    "NdArrayNode": NUMPY_SCALARS | {"numpy.ndarray"},
    "RandomStateNode": frozenset({"numpy.random.RandomState", "numpy.random.mtrand.RandomState"}),
    "SetNode": frozenset({"builtins.set"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "SparseMatrixNode": SPARSE_TYPES,
    "TreeNode": frozenset({TREE}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "TypeNode": NUMPY_SCALARS
    | {f"builtins.{name}" for name in ("bool", "float", "int", "list", "set", "str", "tuple")},
}
"""The types that each way of building an object may build.

A file says both how an object is built and what it is. skops asks whether the type is trusted, whichever way it is
built; here the two must belong together.
"""

TRUSTED: dict[str, str] = {
    **dict.fromkeys(OWN_TYPES | SCIKIT_LEARN_TYPES, "ObjectNode"),
    **dict.fromkeys(SCORES, "FunctionNode"),
    **dict.fromkeys(SPARSE_TYPES, "SparseMatrixNode"),
    TREE: "TreeNode",
    "numpy.dtype": "DTypeNode",
    "sklearn.utils._bunch.Bunch": "DictNode",
}
"""What is trusted besides skops' own list of scikit-learn's estimators and of numpy's and scipy's ufuncs, and the one
way in which it may be built."""
