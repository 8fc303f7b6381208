"""What a notebook shows of a fitted estimator."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from montechain import (
    AllOrders,
    Beam,
    ChainClassifier,
    ChainPopulationClassifier,
    ClusteringForestClassifier,
    DependencyNetworkClassifier,
    LabelPowersetClassifier,
    MajorityClassifier,
    OrderSearch,
    TableClassifier,
)
from montechain.estimators.display import facts_html
from montechain.estimators.facts import Facts, ShownOrder, fitted_facts

EVIL = "<img src=x onerror=alert(1)>"


class Page(HTMLParser):
    """The elements of a page, and the text of the labels in each list; fails if elements do not nest."""

    VOID = frozenset({"img", "br", "input", "meta", "link", "path", "hr"})

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.chains, self.classes, self.text = [], [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append((tag, dict(attributes).get("class") or ""))
        if tag == "ol":
            self.chains.append([])

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == ("bdi", "label") and ("ol", "") in self.open:
            self.chains[-1].append(data)
        if self.open and self.open[-1][0] not in ("style", "script"):
            self.text.append(data)


def block(model):
    return Page(facts_html(fitted_facts(model)))


def targets(n_labels, names=None):
    X, Y = make_multilabel_classification(n_samples=90, n_features=8, n_classes=n_labels, random_state=0)
    return X, Y if names is None else pd.DataFrame(Y, columns=names)


def test_the_order_stands_as_a_chain():
    X, Y = targets(4, ["rain", "wind", "snow", "fog"])
    model = ChainClassifier(order=["snow", "rain", "fog", "wind"], inference=Beam(width=2), loss="hamming").fit(X, Y)
    page = block(model)
    assert page.chains == [["snow", "rain", "fog", "wind"]]
    text = " ".join(page.text)
    assert "each label sees all labels before it" in text
    assert "logistic" in text
    assert "Beam(width=2)" in text
    assert "hamming" in text


def test_diagram_first_and_block_below():
    X, Y = targets(3)
    model = ChainClassifier(random_state=0)
    unfitted = model._repr_html_()
    assert "montechain" not in unfitted
    assert "ChainClassifier" in unfitted
    html = model.fit(X, Y)._repr_html_()
    assert html.index("sk-top-container") < html.index('<div class="montechain">')
    bundle = model._repr_mimebundle_()
    assert '<div class="montechain">' in bundle["text/html"]
    assert bundle["text/plain"] == repr(model)
    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")


def test_parents_where_they_are_not_all():
    X, Y = targets(5, list("abcde"))
    model = ChainClassifier(parents={"b": ["a"], "c": ["a", "b"]}, order=None).fit(X, Y)
    facts = fitted_facts(model)
    parents = dict(facts.parents)
    assert parents == {"a": [], "b": ["a"], "c": ["a", "b"], "d": [], "e": []}
    assert facts.seen == "each label sees at most 2 of those before it"
    assert "no other label" in block(model).text
    independent = ChainClassifier(parents="none", order=None).fit(X, Y)
    assert fitted_facts(independent).seen == "no label sees another"
    assert "no other label" not in block(independent).text
    tree = ChainClassifier(parents="tree", random_state=0).fit(X, Y)
    for label, seen in fitted_facts(tree).parents:
        assert [list("abcde").index(parent) for parent in seen] == list(tree.parents_["abcde".index(label)])


def test_a_population_with_weights():
    X, Y = targets(4, list("abcd"))
    model = ChainPopulationClassifier(n_chains=7, weights=[1, 2, 3, 4, 5, 6, 7], random_state=0).fit(X, Y)
    facts = fitted_facts(model)
    heaviest = ["abcd"[j] for j in model.orders_[6]]
    assert facts.orders[0] == ShownOrder(heaviest, 0.25)
    page = block(model)
    assert len(page.chains) == 7
    assert page.chains[0] == heaviest
    text = " ".join(page.text)
    assert "25.0 %" in text
    assert "2 more, with 10.7 % of the weight" in text
    assert sum(tag == "details" for tag, _ in page.tags) == 1


def test_searched_orders_show_their_payoff():
    X, Y = targets(4)
    search = OrderSearch(n_iterations=6, validation=None)
    model = ChainClassifier(order=search, random_state=0).fit(X, Y)
    best = max(row["payoff"] for row in model.search_trace_)
    facts = fitted_facts(model)
    assert facts.search.startswith(f"J_EM {best:.6g} reached in 7 steps of OrderSearch")
    assert facts.orders[0].payoff == best
    every = ChainPopulationClassifier(order=AllOrders(keep=3, validation=None), random_state=0).fit(X, Y)
    shown = fitted_facts(every).orders
    assert [order.payoff for order in shown] == sorted((order.payoff for order in shown), reverse=True)
    np.testing.assert_allclose([order.weight for order in shown], np.sort(every.weights_)[::-1])
    assert "payoff" in " ".join(str(attributes.get("title")) for _, attributes in block(every).tags)


def test_long_chains_are_folded():
    X, Y = targets(30)
    model = ChainClassifier(random_state=0).fit(X, Y)
    page = block(model)
    names = [f"label_{j}" for j in model.order_]
    assert page.chains == [names[:8], names]
    assert "22 more" in page.text
    assert [attributes for tag, attributes in page.tags if tag == "details"] == [{}]


@pytest.mark.parametrize("parents", ["all", 1])
def test_names_are_shown_as_text(parents):
    X, Y = targets(3, [EVIL, "a & b", '"><script>alert(2)</script>'])
    Y[EVIL] = np.where(Y[EVIL] > 0, EVIL, "no")
    chain = ChainClassifier(parents=parents, random_state=0).fit(X, Y)
    population = ChainPopulationClassifier(n_chains=2, parents=parents, random_state=0).fit(X, Y)
    frame = pd.DataFrame(X).rename(columns={0: EVIL}).rename(columns=str)
    frame["void"] = None
    frame = frame.rename(columns={"void": "<script>alert(3)</script>"})
    table = TableClassifier(chain).fit(frame, Y)
    for model in (chain, population, table):
        html = facts_html(fitted_facts(model))
        page = Page(html)
        assert not {"img", "script"} & {tag for tag, _ in page.tags}
        assert any(EVIL in labels for labels in page.chains)
        assert "<img" not in model._repr_html_()


def test_values_of_parameters_are_escaped_and_cut():
    html = facts_html(Facts("t", choices=[("x", '<b title="' + "y" * 200)]))
    page = Page(html)
    (attributes,) = [attributes for tag, attributes in page.tags if tag == "code"]
    assert attributes["title"] == '<b title="' + "y" * 200
    assert page.text[-1].endswith("…")


def test_a_table_shows_its_inputs_and_the_chain_within():
    X = pd.DataFrame({"river": ["A", "M", "O", "A"] * 5, "length": np.arange(20.0), "void": [None] * 20})
    Y = pd.DataFrame({"material": ["wood", "iron", "steel", "wood"] * 5, "lanes": [2, 2, 4, 4] * 5})
    model = TableClassifier(ChainClassifier(order=None)).fit(X, Y)
    page = block(model)
    assert page.chains == [["material", "lanes"]]
    text = " ".join(page.text)
    assert "1 nominal, 1 number, 1 empty" in text
    assert "4 columns" in text
    assert "column 'void' has no value" in text
    assert '<div class="montechain">' in model._repr_html_()


def test_one_label_without_a_name():
    X, Y = targets(2)
    model = ChainClassifier().fit(X, Y[:, 0])
    assert fitted_facts(model).title == "Fitted chain of 1 label"
    assert block(model).chains == [["label_0"]]


def test_pipelines_and_searches_are_looked_into():
    X, Y = targets(3, list("abc"))
    chain = ChainClassifier(order=["c", "a", "b"])
    piped = make_pipeline(StandardScaler(), chain).fit(X, Y)
    assert block(piped).chains == [["c", "a", "b"]]
    orders = {"order": [["c", "a", "b"], ["b", "a", "c"]]}
    search = GridSearchCV(chain, orders, cv=2).fit(X, Y)
    assert block(search).chains == [search.best_params_["order"]]
    table = TableClassifier(GridSearchCV(make_pipeline(StandardScaler(), chain), {}, cv=2)).fit(X, Y)
    assert block(table).chains == [["c", "a", "b"]]
    assert fitted_facts(GridSearchCV(ChainClassifier(), orders)) is None
    assert fitted_facts(TableClassifier(RandomForestClassifier(2)).fit(X, Y)).inner is None


def test_what_has_no_order_shows_what_it_has():
    X, Y = targets(3, list("abc"))
    n_vectors = len(Y.drop_duplicates())
    commonest = Y.value_counts()
    share = f"{100 * commonest.iloc[0] / len(Y):.1f} %"
    powerset = block(LabelPowersetClassifier("svm").fit(X, Y)).text
    assert "Fitted label powerset of 3 labels" in powerset
    assert f"{n_vectors} seen in training, the commonest in {share} of the rows" in powerset
    assert "svm" in powerset
    network = block(DependencyNetworkClassifier(n_iterations=70, n_collected=30).fit(X, Y)).text
    assert {"Fitted dependency network of 3 labels", "each label sees all others", "70", "30"} <= set(network)
    forest = ClusteringForestClassifier(4, random_state=0).fit(X, Y)
    shown = block(forest).text
    assert "Fitted forest of 4 trees for 3 labels" in shown
    assert str(sum(tree.tree_.n_leaves for tree in forest.forest_.estimators_)) in shown
    majority = block(MajorityClassifier().fit(X, Y)).text
    assert ", ".join(f"{name} = {value}" for name, value in zip("abc", commonest.index[0], strict=True)) in majority
    by_label = block(MajorityClassifier("label").fit(X, Y)).text
    assert ", ".join(f"{name} = {Y[name].mode()[0]}" for name in "abc") in by_label


def test_a_class_of_ones_own_is_shown_as_its_base():
    class Mine(LabelPowersetClassifier):
        pass

    X, Y = targets(2)
    assert fitted_facts(Mine().fit(X, Y)).title == "Fitted label powerset of 2 labels"


def test_light_and_dark():
    html = facts_html(Facts("t"))
    assert "prefers-color-scheme:dark" in html
    assert 'data-jp-theme-light="false"' in html
    assert "http" not in html  # nothing is fetched
