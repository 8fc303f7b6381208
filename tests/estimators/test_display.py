"""What a notebook shows of a fitted estimator."""

from __future__ import annotations

import re
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
from montechain.estimators.display import STYLE, summary_html
from montechain.estimators.summary import ModelSummary, summarise_model

EVIL = "<img src=x onerror=alert(1)>"


class Page(HTMLParser):
    """The elements of a page, and the text of the labels in each list; fails if elements do not nest."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.chains, self.pieces = [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []
        self.text = " ".join(self.pieces)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open.append((tag, dict(attributes).get("class") or ""))
        if tag == "ol":
            self.chains.append([])

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open[-1] == ("bdi", "label") and ("ol", "") in self.open:
            self.chains[-1].append(data)
        if self.open[-1][0] != "style":
            self.pieces.append(data)


def block(model):
    return Page(summary_html(summarise_model(model)))


def targets(n_labels, names=None):
    X, Y = make_multilabel_classification(n_samples=90, n_features=8, n_classes=n_labels, random_state=0)
    return X, Y if names is None else pd.DataFrame(Y, columns=names)


def test_the_order_stands_as_a_chain_below_the_diagram():
    X, Y = targets(4, ["rain", "wind", "snow", "fog"])
    model = ChainClassifier(order=["snow", "rain", "fog", "wind"], inference=Beam(width=2), loss="hamming")
    assert "montechain" not in model._repr_html_()
    page = block(model.fit(X, Y))
    assert page.chains == [["snow", "rain", "fog", "wind"]]
    for said in ("each label sees all labels before it", "logistic", "Beam(width=2)", "hamming"):
        assert said in page.text
    html = model._repr_html_()
    assert html.index("sk-top-container") < html.index('<div class="montechain">')
    bundle = model._repr_mimebundle_()
    assert '<div class="montechain">' in bundle["text/html"]
    assert bundle["text/plain"] == repr(model)
    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")
    one = ChainClassifier().fit(X, Y.to_numpy()[:, 0])
    assert summarise_model(one).title == "Fitted chain of 1 label"
    assert block(one).chains == [["label_0"]]


def test_parents_where_they_are_not_all():
    X, Y = targets(5, list("abcde"))
    model = ChainClassifier(parents={"b": ["a"], "c": ["a", "b"]}, order=None).fit(X, Y)
    summary = summarise_model(model)
    assert dict(summary.parents) == {"a": [], "b": ["a"], "c": ["a", "b"], "d": [], "e": []}
    assert summary.seen == "each label sees at most 2 of those before it"
    assert "no other label" in block(model).text
    independent = ChainClassifier(parents="none", order=None).fit(X, Y)
    assert summarise_model(independent).seen == "no label sees another"
    assert "no other label" not in block(independent).text
    tree = ChainClassifier(parents="tree", random_state=0).fit(X, Y)
    for label, seen in summarise_model(tree).parents:
        assert ["abcde".index(parent) for parent in seen] == list(tree.parents_["abcde".index(label)])


def test_a_population_with_weights_and_a_search():
    X, Y = targets(4, list("abcd"))
    model = ChainPopulationClassifier(n_chains=7, weights=[1, 2, 3, 4, 5, 6, 7], random_state=0).fit(X, Y)
    heaviest = ["abcd"[j] for j in model.orders_[6]]
    assert summarise_model(model).orders[0] == (0.25, heaviest)
    page = block(model)
    assert (len(page.chains), page.chains[0]) == (7, heaviest)
    assert "25.0 %" in page.text
    assert "2 more, with 10.7 % of the weight" in page.text
    assert sum(tag == "details" for tag, _ in page.tags) == 1
    searched = ChainClassifier(order=OrderSearch(n_iterations=6, validation=None), random_state=0).fit(X, Y)
    best = max(row["payoff"] for row in searched.search_trace_)
    assert f"J_EM {best:.6g} reached in 7 steps of OrderSearch" in block(searched).text


def test_what_is_long_is_folded_or_cut():
    X, Y = targets(30)
    model = ChainClassifier(random_state=0).fit(X, Y)
    page = block(model)
    names = [f"label_{j}" for j in model.order_]
    assert page.chains == [names[:8], names]
    assert "22 more" in page.text
    assert [attributes for tag, attributes in page.tags if tag == "details"] == [{}]
    page = Page(summary_html(ModelSummary("t", [("x", '<b title="' + "y" * 200)])))
    (attributes,) = [attributes for tag, attributes in page.tags if tag == "code"]
    assert attributes["title"] == '<b title="' + "y" * 200
    assert page.text.endswith("…")


@pytest.mark.parametrize("parents", ["all", 1])
def test_names_are_shown_as_text(parents):
    X, Y = targets(3, [EVIL, "a & b", '"><script>alert(2)</script>'])
    Y[EVIL] = np.where(Y[EVIL] > 0, EVIL, "no")
    chain = ChainClassifier(parents=parents, random_state=0).fit(X, Y)
    population = ChainPopulationClassifier(n_chains=2, parents=parents, random_state=0).fit(X, Y)
    frame = pd.DataFrame(X).rename(columns={0: EVIL}).rename(columns=str)
    frame["<script>alert(3)</script>"] = None
    for model in (chain, population, TableClassifier(chain).fit(frame, Y)):
        page = block(model)
        assert not {"img", "script"} & {tag for tag, _ in page.tags}
        assert any(EVIL in labels for labels in page.chains)
        assert "<img" not in model._repr_html_()


def test_a_table_shows_its_inputs_and_the_chain_within():
    X = pd.DataFrame({"river": ["A", "M", "O", "A"] * 5, "length": np.arange(20.0), "void": [None] * 20})
    Y = pd.DataFrame({"material": ["wood", "iron", "steel", "wood"] * 5, "lanes": [2, 2, 4, 4] * 5})
    model = TableClassifier(ChainClassifier(order=None)).fit(X, Y)
    page = block(model)
    assert page.chains == [["material", "lanes"]]
    for said in ("1 nominal, 1 number, 1 empty", "4 columns", "column 'void' has no value"):
        assert said in page.text
    assert '<div class="montechain">' in model._repr_html_()


def test_pipelines_and_searches_are_looked_into():
    X, Y = targets(3, list("abc"))
    chain = ChainClassifier(order=["c", "a", "b"])
    assert block(make_pipeline(StandardScaler(), chain).fit(X, Y)).chains == [["c", "a", "b"]]
    orders = {"order": [["c", "a", "b"], ["b", "a", "c"]]}
    search = GridSearchCV(chain, orders, cv=2).fit(X, Y)
    assert block(search).chains == [search.best_params_["order"]]
    table = TableClassifier(GridSearchCV(make_pipeline(StandardScaler(), chain), {}, cv=2)).fit(X, Y)
    assert block(table).chains == [["c", "a", "b"]]
    assert summarise_model(GridSearchCV(ChainClassifier(), orders)) is None
    assert summarise_model(TableClassifier(RandomForestClassifier(2)).fit(X, Y)).inner is None


def test_what_has_no_order_shows_what_it_has():
    class Mine(LabelPowersetClassifier):
        """Shown as its base."""

    X, Y = targets(3, list("abc"))
    commonest = Y.value_counts()
    seen = f"{len(commonest)} seen in training, the commonest in {100 * commonest.iloc[0] / len(Y):.1f} % of the rows"
    forest = ClusteringForestClassifier(4, random_state=0).fit(X, Y)
    leaves = str(sum(tree.tree_.n_leaves for tree in forest.forest_.estimators_))
    always = ", ".join(f"{name} = {value}" for name, value in zip("abc", commonest.index[0], strict=True))
    by_label = ", ".join(f"{name} = {Y[name].mode()[0]}" for name in "abc")
    network = DependencyNetworkClassifier(n_iterations=70, n_collected=30)
    for model, words in (
        (Mine("svm"), ["Fitted label powerset of 3 labels", seen, "svm"]),
        (network, ["Fitted dependency network of 3 labels", "each label sees all others", "70", "30"]),
        (forest, ["Fitted forest of 4 trees for 3 labels", leaves]),
        (MajorityClassifier(), [always]),
        (MajorityClassifier("label"), [by_label]),
    ):
        text = block(model.fit(X, Y)).text
        assert all(word in text for word in words)


def test_colours_are_those_of_the_page_and_nothing_is_fetched():
    assert not re.search(r"#[0-9a-f]{3}|rgb\(|http|url", STYLE)
