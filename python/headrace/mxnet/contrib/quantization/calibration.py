"""Which ranges the numbers in a network have: collectors that look at its layers, and what they tell."""

import numpy as np

from .... import _core
from ....io import DataIter
from ....ndarray import array, contrib
from ....symbol import Group

try:
    from scipy import stats
except ImportError:
    stats = None

__all__ = [
    "_LayerHistogramCollector", "_LayerOutputMinMaxCollector", "_collect_layer_histogram",
    "_collect_layer_output_min_max", "_collect_layer_statistics", "_get_optimal_threshold",
    "_get_optimal_thresholds", "_smooth_distribution", "collect", "combine_histogram", "make_collector",
    "ranges_of", "stats",
]  # fmt: skip

_MODES = ("none", "naive", "entropy", "customize")


def combine_histogram(old_hist, arr, new_min, new_max, new_th):
    """The histogram `old_hist`, (counts, edges, min, max, threshold), with the elements of `arr` added.

    Its bins lie on both sides of zero up to the threshold. Where `new_th`, the largest absolute value in
    `arr`, is beyond it, bins of the same width are added at both ends.

    Examples
    --------
    >>> import numpy
    >>> from headrace.mxnet.contrib.quantization import combine_histogram
    >>> counts, edges = numpy.array([1, 2, 1]), numpy.array([-3.0, -1.0, 1.0, 3.0])
    >>> combined = combine_histogram((counts, edges, -3, 3, 3), numpy.array([0.0, 2.0]), 0, 2, 2)
    >>> combined[0]
    array([1, 3, 2])
    """
    counts, edges, least, largest, threshold = old_hist
    least, largest = min(least, new_min), max(largest, new_max)
    if new_th <= threshold:
        added, _ = np.histogram(arr, bins=len(counts), range=(-threshold, threshold))
        return counts + added, edges, least, largest, threshold
    if threshold == 0:  # nothing but zeros so far, which are in the bin in the middle
        fresh, edges = np.histogram(arr, bins=len(counts), range=(-new_th, new_th))
        fresh[len(counts) // 2] += counts.sum()
        return fresh, edges, least, largest, new_th
    width = 2 * threshold / len(counts)
    further = int((new_th - threshold) // width + 1)
    threshold += further * width
    fresh, edges = np.histogram(arr, bins=len(counts) + 2 * further, range=(-threshold, threshold))
    fresh[further : further + len(counts)] += counts
    return fresh, edges, least, largest, threshold


class _Collector:
    """What collectors share: they look at the arrays named in `include_layer`, or at all for None."""

    def __init__(self, include_layer, logger):
        self.include_layer, self.logger = include_layer, logger

    def collect(self, name, arr):
        """Takes notice of an array, an output or input of a layer; `name` is text or bytes.

        ValueError: it has elements that are not finite.
        """
        name = name.decode() if isinstance(name, bytes) else name
        if self.include_layer is not None and name not in self.include_layer:
            return
        values = arr.asnumpy()
        if values.size == 0:
            return
        least, largest = values.min(), values.max()
        if not np.isfinite(least) or not np.isfinite(largest):
            raise ValueError(
                f"calibration: {name} has elements that are nan or infinite, so that it has no range; look "
                "at the calibration data and at the parameters, or exclude the layer"
            )
        self._take(name, values, least, largest)

    def _take(self, name, values, least, largest):
        raise NotImplementedError


class _LayerHistogramCollector(_Collector):
    """Histograms by name, in `hist_dict`; see combine_histogram."""

    def __init__(self, num_bins=8001, include_layer=None, logger=None):
        super().__init__(include_layer, logger)
        self.num_bins = num_bins
        self.hist_dict = {}

    def _take(self, name, values, least, largest):
        if self.logger:
            self.logger.debug("Collecting layer %s histogram of shape %s", name, values.shape)
        threshold = max(abs(least), abs(largest))
        if name in self.hist_dict:
            self.hist_dict[name] = combine_histogram(self.hist_dict[name], values, least, largest, threshold)
            return
        counts, edges = np.histogram(values, bins=self.num_bins, range=(-threshold, threshold))
        if threshold == 0:  # NumPy makes a range of its own then
            edges = np.zeros_like(edges)
        self.hist_dict[name] = (counts, edges, least, largest, threshold)


class _LayerOutputMinMaxCollector(_Collector):
    """(least, largest) element by name, in `min_max_dict`."""

    def __init__(self, quantized_dtype, include_layer=None, logger=None):
        super().__init__(include_layer, logger)
        self.quantized_dtype = quantized_dtype
        self.min_max_dict = {}

    def _take(self, name, values, least, largest):
        before = self.min_max_dict.get(name, (least, largest))
        self.min_max_dict[name] = (min(before[0], least), max(before[1], largest))
        if self.logger:
            self.logger.debug("Collecting layer %s min_range=%f, max_range=%f", name, least, largest)


def check_mode(calib_mode, modes=_MODES):
    """ValueError unless the mode, None being 'none', is one of these."""
    if calib_mode is not None and calib_mode not in modes:
        raise ValueError(
            f"unknown calibration mode {calib_mode} received, expected {', '.join(modes[:-1])} or {modes[-1]}"
        )


def make_collector(calib_mode, quantized_dtype, layers, custom, logger):
    """The collector for a mode, None for 'none'; `custom` is that of 'customize'."""
    check_mode(calib_mode)
    if calib_mode in (None, "none"):
        return None
    if calib_mode == "customize":
        if custom is None:
            raise ValueError("calib_mode='customize' needs a LayerOutputCollector")
        return custom
    if calib_mode == "entropy":
        return _LayerHistogramCollector(include_layer=layers, logger=logger)
    return _LayerOutputMinMaxCollector(quantized_dtype, include_layer=layers, logger=logger)


def ranges_of(collector, calib_mode, quantized_dtype, logger):
    """{name: (least, largest)}: what a collector that has seen data found. ValueError: it has seen none."""
    found = collector.hist_dict if calib_mode == "entropy" else collector.min_max_dict
    if not found:
        raise ValueError(
            "calibration: the collector has seen no layers; run the network on calibration data first "
            "(Executor.set_monitor_callback(collector.collect, monitor_all=True))"
        )
    if calib_mode == "entropy":
        return _get_optimal_thresholds(found, quantized_dtype, logger=logger)
    return found


# --- running the network ------------------------------------------------------------------------------------


def collect(sym, params, data, names, collector, max_num_examples, logger):
    """Shows a collector the layers that it includes, on the batches of a DataIter; `names`: of the data.

    Gives how many examples there were. ValueError: none, or another number of arrays than names.
    """
    outputs, labels = _watched(sym, getattr(collector, "include_layer", None))
    op = _core.CachedOp(outputs._handle)
    inputs = outputs.list_inputs()
    batches = examples = 0
    data.reset()
    for batch in data:
        arrays = dict(zip(names, batch.data))
        known = {**params, **arrays}
        missing = [name for name in inputs if name not in known]
        if missing:
            known.update(_blank(outputs, {name: array.shape for name, array in known.items()}, missing))
        with _core.predict_mode():
            found = op([known[name] for name in inputs], False)
        for name, value in zip(labels, found):
            collector.collect(name, value)
        batches += 1
        examples += len(batch.data[0])
        if max_num_examples is not None and examples >= max_num_examples:
            break
    if batches == 0:
        raise ValueError("calibration: calib_data has no batches; give an iterator with some examples")
    if logger:
        logger.info("Collected statistics from %d batches with %d examples", batches, examples)
    return examples


def _watched(sym, layers):
    """The outputs and variables of a network that a collector looks at, and their names."""
    internals = sym.get_internals()
    names = internals.list_outputs()
    places = [i for i, name in enumerate(names) if layers is None or name in layers]
    if not places:
        raise ValueError("calibration: nothing in the network is quantized, so there is nothing to calibrate")
    return Group([internals[i] for i in places]), [names[i] for i in places]


def _blank(symbol, shapes, names):
    """Zeros for inputs that calibration data do not have, such as labels. ValueError: of unknown shape."""
    found, _, _ = symbol.infer_shape_partial(**{k: v for k, v in shapes.items() if k in symbol.list_inputs()})
    by_name = dict(zip(symbol.list_arguments(), found))
    unknown = [name for name in names if not by_name.get(name)]
    if unknown:
        raise ValueError(
            f"calibration: the inputs {', '.join(unknown)} are neither parameters nor in the calibration "
            "data; add them to arg_params or to data_names"
        )
    return {name: array(np.zeros(by_name[name], "float32")) for name in names}


def _collect_layer_statistics(mod, data, collector, max_num_examples=None, logger=None):
    """As `collect`, of a Module that is bound and has parameters. ValueError: `data` is no DataIter."""
    if not isinstance(data, DataIter):
        raise ValueError(f"Only supports data as a type of DataIter, while received type {type(data)}")
    arguments, auxiliary = mod.get_params()
    params = {**arguments, **auxiliary}
    return collect(mod.symbol, params, data, mod.data_names, collector, max_num_examples, logger)


def _collect_layer_output_min_max(
    mod, data, quantized_dtype, include_layer=None, max_num_examples=None, logger=None
):
    """({name: (least, largest)}, how many examples) of a Module's layers."""
    collector = _LayerOutputMinMaxCollector(quantized_dtype, include_layer, logger)
    examples = _collect_layer_statistics(mod, data, collector, max_num_examples, logger)
    return collector.min_max_dict, examples


def _collect_layer_histogram(mod, data, include_layer=None, max_num_examples=None, logger=None):
    """({name: histogram}, how many examples) of a Module's layers."""
    collector = _LayerHistogramCollector(include_layer=include_layer, logger=logger)
    examples = _collect_layer_statistics(mod, data, collector, max_num_examples, logger)
    return collector.hist_dict, examples


# --- thresholds ---------------------------------------------------------------------------------------------


def _smooth_distribution(p, eps=0.0001):
    """A distribution in which zeros are `eps` and the others smaller by what that takes. ValueError: all are
    zero, or there are too few others."""
    zeros = p == 0
    others = p.size - zeros.sum()
    if not others:
        raise ValueError("The discrete probability distribution is malformed. All entries are 0.")
    less = eps * zeros.sum() / others
    smooth = np.where(zeros, eps, p - less).astype(np.float32)
    if (smooth <= 0).any():
        raise ValueError(
            f"The discrete probability distribution is malformed. Entries are smaller than {less}."
        )
    return smooth


def _get_optimal_threshold(hist_data, quantized_dtype, num_quantized_bins=255):
    """(least, largest, threshold, divergence): up to which absolute value numbers are best quantized.

    See contrib.calibrate_entropy. Numbers that are never negative have twice as many values on uint8.
    """
    counts, edges, least, largest, threshold = hist_data
    assert len(counts) % 2 == 1, f"an odd number of bins is needed, got {len(counts)}"
    if threshold == 0:
        return least, largest, np.zeros(1, np.float32), np.zeros(1, np.float32)
    if least >= 0 and quantized_dtype in ("auto", "uint8"):
        num_quantized_bins = num_quantized_bins * 2 + 1
    best, divergence = contrib.calibrate_entropy(
        hist=array(np.asarray(counts, "float32")),
        hist_edges=array(np.asarray(edges, "float32")),
        num_quantized_bins=num_quantized_bins,
    )
    return least, largest, best.asnumpy(), divergence.asnumpy()


def _get_optimal_thresholds(hist_dict, quantized_dtype, num_quantized_bins=255, logger=None):
    """{name: (least, largest)} that histograms ask for; empties `hist_dict`, which may be large."""
    assert isinstance(hist_dict, dict), f"a dict of histograms is needed, got {type(hist_dict).__name__}"
    if logger:
        logger.info(
            "Calculating optimal thresholds for quantization using KL divergence with num_quantized_bins=%d",
            num_quantized_bins,
        )
    ranges = {}
    for name in list(hist_dict):
        least, largest, threshold, divergence = _get_optimal_threshold(
            hist_dict.pop(name), quantized_dtype, num_quantized_bins
        )
        is_unsigned = least >= 0 and quantized_dtype in ("auto", "uint8")
        ranges[name] = (0 if is_unsigned else -threshold, threshold)
        if logger:
            logger.debug("layer=%s, min_val=%f, max_val=%f, th=%f, divergence=%f",
                         name, least, largest, threshold[0], divergence[0])  # fmt: skip
    return ranges
