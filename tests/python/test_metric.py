import math

import numpy
import pytest

from headrace import metric, nd, np, npx

SCORES = [[0.3, 0.7], [0.6, 0.4]]


def arrays(kind, *values):
    if kind == "numpy":
        return [numpy.array(value, "float32") for value in values]
    return [(np if kind == "np" else nd).array(value) for value in values]


@pytest.fixture(params=["nd", "np", "numpy"])
def kind(request):
    if request.param == "np":
        npx.set_np()
    yield request.param
    npx.reset_np()


def value_of(made, *updates):
    for labels, preds in updates:
        made.update(labels, preds)
    return made.get()[1]


# What MXNet 1.9.1 gives for labels [1, 1] and the scores above; then for labels [0, 1].
CLASSIFICATION = [
    (metric.Accuracy, {}, 0.5, 0.25),
    (metric.TopKAccuracy, {"top_k": 2}, 1.0, 1.0),
    (metric.F1, {}, 0.6666666666666666, 0.3333333333333333),
    (metric.F1, {"average": "micro"}, 0.6666666666666666, 0.4),
    (metric.MCC, {}, 0.0, -0.5),
    (metric.CrossEntropy, {}, 0.636482834815979, 0.8483069241046906),
    (metric.NegativeLogLikelihood, {}, 0.636482834815979, 0.8483069241046906),
    (metric.Perplexity, {"ignore_label": None}, 1.8898223592057068, 2.3356898563615216),
]


@pytest.mark.parametrize(("cls", "arguments", "first", "both"), CLASSIFICATION)
def test_classification(kind, cls, arguments, first, both):
    labels, more, preds = arrays(kind, [1, 1], [0, 1], SCORES)
    made = cls(**arguments)
    assert value_of(made, (labels, preds)) == pytest.approx(first, rel=1e-6)
    assert isinstance(made.get()[1], float)
    assert value_of(made, ([more], [preds])) == pytest.approx(both, rel=1e-6)


def test_correlation_of_confusion_matrices(kind):
    """MXNet 1.9.1's figures; all updates go into one matrix, whose size is that of the largest."""
    first, second, third = ([0, 1, 2, 1], [0, 1], [1, 1])
    wide = [[0.9, 0.1, 0], [0.2, 0.7, 0.1], [0.1, 0.5, 0.4], [0.1, 0.8, 0.1]]
    narrow, last = [[0.9, 0.1], [0.6, 0.4]], [[0.1, 0.9], [0.4, 0.6]]
    made = metric.PCC()
    assert numpy.isnan(made.get()[1])
    assert value_of(made, arrays(kind, first, wide)) == pytest.approx(0.6454972243679028)
    assert value_of(made, arrays(kind, second, narrow)) == pytest.approx(0.45226701686664544)
    made.reset_local()
    assert numpy.isnan(value_of(made, arrays(kind, third, last)))
    assert made.get_global()[1] == pytest.approx(0.5322906474223771)
    with pytest.raises(ValueError, match="Shape of labels 1"):
        made.update(*arrays(kind, [1], last))


def test_correlation_of_two_classes_is_that_of_matthews(kind):
    labels, preds = arrays(kind, [0, 1, 1, 0, 1], [[0.6, 0.4], [0.3, 0.7], [0.8, 0.2], [0.1, 0.9], [0, 1]])
    expected = value_of(metric.MCC(average="micro"), (labels, preds))
    assert value_of(metric.PCC(), (labels, preds)) == pytest.approx(expected)


def test_correlation_of_confusion_matrices_takes_classes_for_scores(kind):
    scores = [[0.6, 0.4, 0], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6], [0, 0.9, 0.1], [0, 1, 0]]
    labels, preds, chosen = arrays(kind, [0, 1, 1, 0, 1], scores, numpy.argmax(scores, 1))
    assert value_of(metric.PCC(), ([labels], [chosen])) == value_of(metric.PCC(), ([labels], [preds]))


@pytest.mark.parametrize(
    ("cls", "wanted"), [(metric.MAE, 1.4166666567), (metric.MSE, 2.7083333134), (metric.RMSE, 1.5951189994)]
)
def test_regression_is_the_mean_over_updates(kind, cls, wanted):
    labels, preds, label, pred = arrays(kind, [1, 2, 3], [1.5, 2, 5], [1], [[3.0]])
    made = cls()
    assert value_of(made, ([labels], [preds]), (label, pred)) == pytest.approx(wanted, rel=1e-6)
    assert made.num_inst == 2


def test_loss(kind):
    losses, more = arrays(kind, [1, 2], [[6.0]])
    made = metric.Loss()
    assert value_of(made, (0, losses), (None, [more])) == 3.0
    assert made.num_inst == 3


def test_accuracy_along_other_axes_and_of_class_numbers():
    scores = nd.array([[[0.1, 0.8], [0.9, 0.2]], [[0.5, 0.3], [0.4, 0.7]]])
    labels = nd.array([[1, 0], [1, 1]])
    assert value_of(metric.Accuracy(axis=1), (labels, scores)) == 0.75
    assert value_of(metric.Accuracy(), (nd.array([1, 0, 1]), nd.array([1.7, 0, 0]))) == pytest.approx(2 / 3)
    assert value_of(metric.Accuracy(axis=-1), (labels, scores)) == 0.75


def test_top_k():
    made = metric.TopKAccuracy(top_k=2)
    assert made.get()[0] == "top_k_accuracy_2"
    scores = nd.array([[0.2, 0.8, 0.1], [0.3, 0.7, 0.4], [0.9, 0.5, 0.6]])
    assert value_of(made, (nd.array([0, 0, 2]), scores)) == pytest.approx(2 / 3)
    with pytest.raises(AssertionError, match="top_k is no more than 1"):
        metric.TopKAccuracy(top_k=1)
    with pytest.raises(ValueError, match="TopKAccuracy: expected scores"):
        made.update(nd.array([1, 0]), nd.ones((2, 3, 4)))


def test_perplexity_leaves_out_a_label():
    made = metric.Perplexity(ignore_label=0)
    label, pred = nd.array([[1, 0]]), nd.array([SCORES])
    assert value_of(made, (label, pred)) == pytest.approx(1 / 0.7, rel=1e-6)
    assert value_of(made, (nd.array([[0, 0]]), pred)) == pytest.approx(1 / 0.7, rel=1e-6)
    assert made.num_inst == 1
    with pytest.raises(AssertionError, match="shape mismatch"):
        made.update(nd.array([1, 0, 1]), nd.array(SCORES))


def test_f1_is_for_two_classes():
    with pytest.raises(ValueError, match="only supports binary classification"):
        metric.F1().update([nd.array([0, 1, 2])], [nd.ones((3, 2))])
    with pytest.raises(ValueError, match="F1: expected scores"):
        metric.F1().update([nd.array([0, 1])], [nd.ones((2,))])


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_pearson(average):
    rng = numpy.random.RandomState(0)
    x, y = rng.rand(2, 20)
    made = metric.PearsonCorrelation(average=average)
    assert value_of(made, (x, y)) == pytest.approx(numpy.corrcoef(x, y)[0, 1])
    made.reset()
    halves = value_of(made, (x[:10], y[:10]), (x[10:], y[10:]))
    parts = [numpy.corrcoef(x[:10], y[:10])[0, 1], numpy.corrcoef(x[10:], y[10:])[0, 1]]
    wanted = numpy.mean(parts) if average == "macro" else numpy.corrcoef(x, y)[0, 1]
    assert halves == pytest.approx(wanted)
    with pytest.raises(ValueError, match="Shape of labels"):
        made.update(x, y[:3])


def test_custom_metrics():
    def mean_of_pair(label, pred):
        return float(label.sum()), 4

    made = metric.CustomMetric(mean_of_pair)
    assert made.name == "mean_of_pair"
    assert value_of(made, (nd.array([1, 2]), nd.array([1, 2]))) == 0.75
    assert metric.CustomMetric(lambda label, pred: 1.0).name == "custom(<lambda>)"
    right = metric.np(lambda label, pred: (label == pred.argmax(1)).mean(), name="right")
    assert right.name == "right"
    assert value_of(right, ([nd.array([1, 1])], [nd.array(SCORES)])) == 0.5
    extra = metric.CustomMetric(lambda label, pred: 1.0, allow_extra_outputs=True)
    assert value_of(extra, ([nd.ones(1)], [nd.ones(1), nd.ones(1)])) == 1.0
    with pytest.raises(NotImplementedError, match="cannot be serialized"):
        made.get_config()


def test_local_and_global_figures():
    made = metric.Accuracy()
    assert math.isnan(made.get()[1])
    assert math.isnan(made.get_global()[1])
    assert str(made) == "EvalMetric: {'accuracy': nan}"
    made.update(nd.array([1, 1]), nd.array(SCORES))
    made.reset_local()
    made.update(nd.array([1, 0]), nd.array(SCORES))
    assert made.get() == ("accuracy", 1.0)
    assert made.get_global() == ("accuracy", 0.75)
    assert made.get_name_value() == [("accuracy", 1.0)]
    assert made.get_global_name_value() == [("accuracy", 0.75)]
    assert (made.num_inst, made.global_num_inst) == (2, 4)
    made.reset()
    assert math.isnan(made.get_global()[1])


def test_update_dict_picks_names():
    label, pred = nd.array([1, 1]), nd.array(SCORES)
    made = metric.Accuracy(output_names=["out"], label_names=["y"])
    made.update_dict({"y": label, "z": pred}, {"other": label, "out": pred})
    assert made.get()[1] == 0.5
    with pytest.raises(KeyError):
        made.update_dict({"q": label}, {"out": pred})
    every = metric.Accuracy()
    every.update_dict({"y": label}, {"out": pred})
    assert every.get()[1] == 0.5


def test_composite():
    made = metric.CompositeEvalMetric(["acc", metric.TopKAccuracy(2)])
    made.add(metric.create("ce"))
    made.update([nd.array([1, 1])], [nd.array(SCORES)])
    names, values = made.get()
    assert names == ["accuracy", "top_k_accuracy_2", "cross-entropy"]
    assert values == pytest.approx([0.5, 1.0, 0.636482834], rel=1e-6)
    assert made.get_name_value()[1] == ("top_k_accuracy_2", 1.0)
    made.reset_local()
    assert math.isnan(made.get()[1][0])
    assert made.get_global()[1][0] == 0.5
    made.reset()
    assert math.isnan(made.get_global()[1][0])
    assert made.get_metric(0).name == "accuracy"
    with pytest.raises(ValueError, match="Metric index 5 is out of range 0 and 3"):
        made.get_metric(5)
    made.update_dict({"y": nd.array([1, 1])}, {"out": nd.array(SCORES)})
    assert made.get()[1][0] == 0.5


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("acc", metric.Accuracy),
        ("Accuracy", metric.Accuracy),
        ("ce", metric.CrossEntropy),
        ("crossentropy", metric.CrossEntropy),
        ("nll_loss", metric.NegativeLogLikelihood),
        ("rmse", metric.RMSE),
        ("composite", metric.CompositeEvalMetric),
        ("loss", metric.Loss),
        ("pcc", metric.PCC),
        ("torch", metric.Torch),
        ("pearsonr", metric.PearsonCorrelation),
    ],
)
def test_create_by_name(name, cls):
    assert type(metric.create(name)) is cls


def test_create_from_anything():
    made = metric.create("top_k_accuracy", top_k=3)
    assert made.top_k == 3
    assert metric.create(made) is made
    assert metric.create(["acc", "mse"]).get()[0] == ["accuracy", "mse"]
    assert isinstance(metric.create(lambda label, pred: 1.0), metric.CustomMetric)
    with pytest.raises(AssertionError, match="foo is not registered"):
        metric.create("foo")
    with pytest.raises(AssertionError, match="must be of string type"):
        metric.create(5)


def test_own_metrics():
    @metric.register
    @metric.alias("number_of_updates")
    class Updates(metric.EvalMetric):
        def __init__(self, step=1, name="updates", output_names=None, label_names=None):
            super().__init__(name, output_names=output_names, label_names=label_names, step=step)
            self.step = step

        def update(self, labels, preds):
            self.sum_metric += self.step
            self.num_inst += 1

    made = metric.create("updates", step=3)
    assert value_of(made, (None, None)) == 3
    assert type(metric.create("number_of_updates")) is Updates
    config = made.get_config()
    assert config["step"] == 3
    assert config["metric"] == "Updates"
    with pytest.raises(NotImplementedError):
        metric.EvalMetric("x").update(None, None)


@pytest.mark.parametrize("resets", [False, True])
def test_own_metrics_without_global_figures_give_their_local_ones(resets):
    class Counted(metric.EvalMetric):
        def update(self, labels, preds):
            self.sum_metric += 2.0
            self.num_inst += 1

        if resets:

            def reset(self):
                self.sum_metric, self.num_inst = 0.0, 0

    class Pair(Counted):
        def get(self):
            return ["a", "b"], [1.0, 2.0]

    made, pair = Counted("counted"), Pair("pair")
    both = metric.CompositeEvalMetric([made, pair])
    both.update([], [])
    assert made.get_global_name_value() == [("counted", 2.0)]
    assert both.get_global_name_value() == [("counted", 2.0), ("a", 1.0), ("b", 2.0)]
    made.reset()
    assert math.isnan(made.get_global()[1])


def test_mismatches():
    label, pred = nd.array([1, 1]), nd.array(SCORES)
    with pytest.raises(ValueError, match="Shape of labels 1 does not match shape of predictions 2"):
        metric.Accuracy().update([label], [pred, pred])
    for made in (metric.Accuracy(), metric.TopKAccuracy(2), metric.CrossEntropy(), metric.F1()):
        with pytest.raises(ValueError, match="Shape of labels 3 does not match shape of predictions 2"):
            made.update(nd.array([1, 1, 1]), pred)
    with pytest.raises(IndexError):
        metric.CrossEntropy().update(nd.array([1, 5]), pred)


def test_check_label_shapes():
    label, pred = nd.array([1, 1]), nd.array(SCORES)
    assert metric.check_label_shapes(label, pred) == (label, pred)
    assert metric.check_label_shapes(label, pred, wrap=True) == ([label], [pred])
    with pytest.raises(ValueError, match=r"Shape of labels \(2,\) does not match"):
        metric.check_label_shapes(label, pred, shape=True)


class Own(metric.EvalMetric):
    """Gives a NumPy scalar itself."""

    def update(self, labels, preds):
        self._add(numpy.float64(1), 4)

    def get(self):
        return self.name, numpy.float64(self.sum_metric / self.num_inst)


def test_values_print_as_numbers_of_python():
    labels, preds = [nd.array([1, 0])], [nd.array(SCORES)]
    for name in ("acc", "f1", "mcc", "pcc", "mae", "ce", "nll_loss", "loss"):
        made = metric.create(name)
        assert math.isnan(made.get()[1])
        made.update(labels, [nd.array([[1], [0]])] if name == "mae" else preds)
        assert type(made.get()[1]) is float, name
        assert "numpy" not in str(made) and "np." not in str(made)
        assert type(made.get_global_name_value()[0][1]) is float
    both = metric.create(["acc", Own("own")])
    both.update(labels, preds)
    assert str(both.get()) == "(['accuracy', 'own'], [1.0, 0.25])"
    own = Own("own")
    own.update(labels, preds)
    assert str(own) == "EvalMetric: {'own': 0.25}"


def test_mcc_rounds_once():
    made = metric.create("mcc")
    made.update([nd.array([1, 0, 0])], [nd.array([[0.3, 0.7], [0.6, 0.4], [0.2, 0.8]])])
    assert made.get()[1] == 0.5


def test_a_composite_takes_metrics_with_what_they_have_counted():
    counted = metric.Accuracy()
    counted.update([nd.array([0, 1])], [nd.array([[1, 0], [0, 1]])])
    both = metric.create([counted, "mse"])
    names, values = both.get()
    assert names == ["accuracy", "mse"] and values[0] == 1 and math.isnan(values[1])
    both.reset()
    assert math.isnan(counted.get()[1])


def test_a_composite_opens_values_that_are_arrays():
    class Several(metric.EvalMetric):
        def get(self):
            return ["first", "second"], numpy.array([1.0, 2.0])

    both = metric.CompositeEvalMetric([Several("several"), "mse"])
    names, values = both.get()
    assert names == ["first", "second", "mse"] and values[:2] == [1, 2]


@pytest.mark.parametrize("name, value", [("f1", 2 / 3), ("mcc", 1 / 6)])
@pytest.mark.parametrize("negative", [-1, 0, 2])
def test_what_is_not_class_1_is_negative(name, value, negative):
    scores = nd.array([[0.3, 0.7], [0.8, 0.2], [0.4, 0.6], [0.9, 0.1], [0.2, 0.8]])
    labels = nd.array([1, negative, negative, 1, 1])
    for average in ("macro", "micro"):
        measure = metric.create(name, average=average)
        measure.update([labels], [scores])
        assert measure.get()[1] == pytest.approx(value)


@pytest.mark.parametrize("name", ["f1", "mcc"])
def test_no_arrays_are_no_figure(name):
    measure = metric.create(name)
    measure.update([], [])
    assert measure.get() == (name, 0.0)


def test_places_of_a_vector_of_scores():
    measure = metric.TopKAccuracy(top_k=2)
    measure.update([nd.array([0, 1, 1])], [nd.array([0.2, 0.9, 2])])
    assert measure.get() == ("top_k_accuracy_2", 2 / 3)


def test_perplexity_ignores_labels_as_they_are():
    measure = metric.Perplexity(ignore_label=0)
    scores = nd.array([[0.2, 0.5], [0.3, 0.7], [0.1, 0.9]])
    measure.update([nd.array([0.6, 0.2, 1.9])], [scores])
    assert measure.get()[1] == pytest.approx(2.6456684503892887)


def test_global_figures_are_those_of_metrics_that_say_so():
    class Shares(metric.EvalMetric):
        def update(self, labels, preds):
            self.sum_metric, self.num_inst, self.global_sum_metric, self.global_num_inst = 3, 4, 1, 2

    for measure, whole, forgotten in (
        (Shares("s"), 0.75, math.nan),
        (Shares("s", has_global_stats=True), 0.5, 0.5),
    ):
        measure.update([], [])
        assert measure.get_global() == ("s", whole)
        measure.reset_local()
        assert measure.get_global()[1] == pytest.approx(forgotten, nan_ok=True)


def test_a_function_sees_rows_where_outputs_may_be_more_than_labels():
    measure = metric.CustomMetric(lambda label, pred: float(label.sum()), allow_extra_outputs=True)
    measure.update(nd.array([1, 2, 3]), nd.ones((3, 2)))
    assert measure.get()[1] == 2
