"""Callbacks of Module that keep metrics in data frames of pandas, or draw them with bokeh during training.

The packages are imported when an object is made: ImportError, they are not there.
"""

import collections
import datetime
import time

__all__ = ["LiveBokehChart", "LiveLearningCurve", "LiveTimeSeries", "PandasLogger", "args_wrapper"]


def _metrics(param):
    """{name: value} of a BatchEndParam's metric, which is reset."""
    if param.eval_metric is None:
        return {}
    values = dict(param.eval_metric.get_name_value())
    param.eval_metric.reset()
    return values


class PandasLogger:
    """Metrics of every `frequent`-th batch, of evaluations, and the times of epochs, in three data frames.

    `batch_size` is that of training, for the speed. `callback_args()` are keywords for `fit`.

    Examples
    --------
    >>> import pandas
    >>> from headrace.mxnet.notebook.callback import PandasLogger
    >>> logger = PandasLogger(batch_size=8, frequent=1)
    >>> accuracy = metric.Accuracy()
    >>> accuracy.update([nd.array([1])], [nd.array([[0.2, 0.8]])])
    >>> logger.train_cb(mx.model.BatchEndParam(epoch=0, nbatch=1, eval_metric=accuracy, locals=None))
    >>> logger.train_df["accuracy"].tolist()
    [1.0]
    """

    def __init__(self, batch_size, frequent=50):
        import pandas

        self.batch_size = batch_size
        self.frequent = frequent
        self._dataframes = {name: pandas.DataFrame() for name in ("train", "eval", "epoch")}
        self.last_time = time.time()
        self.start_time = self.last_epoch_time = datetime.datetime.now()

    @property
    def train_df(self):
        """The frame of batches of training."""
        return self._dataframes["train"]

    @property
    def eval_df(self):
        """The frame of evaluations."""
        return self._dataframes["eval"]

    @property
    def epoch_df(self):
        """The frame of epochs."""
        return self._dataframes["epoch"]

    @property
    def all_dataframes(self):
        """{'train', 'eval', 'epoch'} to the frames."""
        return self._dataframes

    def elapsed(self):
        """The time since the start, a timedelta."""
        return datetime.datetime.now() - self.start_time

    def append_metrics(self, metrics, df_name):
        """Adds a row to a frame, and the columns that it lacks."""
        frame = self._dataframes[df_name]
        for column in metrics.keys() - set(frame.columns):
            frame[column] = None
        frame.loc[len(frame)] = metrics

    def train_cb(self, param):
        """A callback for the end of batches."""
        if param.nbatch % self.frequent == 0:
            self._process_batch(param, "train")

    def eval_cb(self, param):
        """A callback for the end of evaluations."""
        self._process_batch(param, "eval")

    def _process_batch(self, param, dataframe):
        now = time.time()
        batches = self.frequent / max(now - self.last_time, 1e-9)
        row = _metrics(param) | {
            "batches_per_sec": batches,
            "records_per_sec": batches * self.batch_size,
            "elapsed": self.elapsed(),
            "minibatch_count": param.nbatch,
            "epoch": param.epoch,
        }
        self.append_metrics(row, dataframe)
        self.last_time = now

    def epoch_cb(self, *_):
        """A callback for the end of epochs."""
        now = datetime.datetime.now()
        self.append_metrics({"elapsed": self.elapsed(), "epoch_time": now - self.last_epoch_time}, "epoch")
        self.last_epoch_time = now

    def callback_args(self):
        """Keywords of `fit` that let it call this object."""
        return {
            "batch_end_callback": self.train_cb,
            "eval_end_callback": self.eval_cb,
            "epoch_end_callback": self.epoch_cb,
        }


class LiveBokehChart:
    """Base of charts in a notebook that are drawn anew every `display_freq` seconds.

    A subclass defines `setup_chart`, which gives bokeh's handle, and `update_chart_data`. Without a
    `pandas_logger` it has one of its own, with `batch_size` and `frequent`.

    Examples
    --------
    >>> from headrace.mxnet.notebook.callback import LiveBokehChart
    >>> class Silent(LiveBokehChart):
    ...     def setup_chart(self):
    ...         return None
    ...     def update_chart_data(self):
    ...         print(self.metric_name)
    >>> chart = Silent(None, "accuracy", batch_size=8)  # doctest: +SKIP
    """

    def __init__(self, pandas_logger, metric_name, display_freq=10, batch_size=None, frequent=50):
        import bokeh.io

        self.pandas_logger = pandas_logger or PandasLogger(batch_size, frequent)
        self.display_freq = display_freq
        self.last_update = time.time()
        self.metric_name = metric_name
        bokeh.io.output_notebook()
        self.handle = self.setup_chart()

    def setup_chart(self):
        """Draws an empty chart and gives its handle."""
        raise NotImplementedError("Incomplete base class: LiveBokehChart must be sub-classed")

    def update_chart_data(self):
        """Brings the data of the chart up to date."""
        raise NotImplementedError("Incomplete base class: LiveBokehChart must be sub-classed")

    def interval_elapsed(self):
        """Whether it is time to draw."""
        return time.time() - self.last_update > self.display_freq

    def _push_render(self):
        import bokeh.io

        bokeh.io.push_notebook(handle=self.handle)
        self.last_update = time.time()

    def _do_update(self):
        self.update_chart_data()
        self._push_render()

    def batch_cb(self, param):
        """A callback for the end of batches."""
        if self.interval_elapsed():
            self._do_update()

    def eval_cb(self, param):
        """A callback for the end of evaluations, which always draws."""
        self._do_update()

    def callback_args(self):
        """Keywords of `fit` that let it call this object."""
        return {"batch_end_callback": self.batch_cb, "eval_end_callback": self.eval_cb}


class LiveTimeSeries(LiveBokehChart):
    """A value over time: `update_chart_data(value)` adds a point. Keywords go to bokeh's figure.

    Examples
    --------
    >>> from headrace.mxnet.notebook.callback import LiveTimeSeries
    >>> series = LiveTimeSeries(y_axis_label="loss")  # doctest: +SKIP
    >>> series.update_chart_data(0.3)  # doctest: +SKIP
    """

    def __init__(self, **fig_params):
        from bokeh.plotting import figure

        self.fig = figure(x_axis_type="datetime", x_axis_label="Elapsed time", **fig_params)
        super().__init__(None, None)

    def setup_chart(self):
        from bokeh.plotting import show

        self.start_time = datetime.datetime.now()
        self.line = self.fig.line([], [])
        return show(self.fig, notebook_handle=True)

    def elapsed(self):
        """The time since the start, a timedelta."""
        return datetime.datetime.now() - self.start_time

    def update_chart_data(self, value):
        self.line.data_source.stream({"x": [self.elapsed()], "y": [value]})
        self._push_render()


class LiveLearningCurve(LiveBokehChart):
    """The metric `metric_name` of training and of validation over time.

    Examples
    --------
    >>> from headrace.mxnet.notebook.callback import LiveLearningCurve
    >>> curve = LiveLearningCurve("accuracy", display_freq=5)  # doctest: +SKIP
    >>> module.fit(batches, eval_metric="accuracy", **curve.callback_args())  # doctest: +SKIP
    """

    def __init__(self, metric_name, display_freq=10, frequent=50):
        self.frequent = frequent
        self.start_time = datetime.datetime.now()
        self._points = {"train": ([], []), "eval": ([], [])}
        super().__init__(None, metric_name, display_freq, frequent=frequent)

    def setup_chart(self):
        from bokeh.plotting import figure, show

        self.fig = figure(x_axis_type="datetime", x_axis_label="Training time")
        self._lines = {
            "train": self.fig.line([], [], line_dash="dotted", alpha=0.3, legend_label="train"),
            "eval": self.fig.line([], [], line_color="green", line_width=2, legend_label="validation"),
        }
        self.fig.legend.location = "bottom_right"
        self.fig.yaxis.axis_label = self.metric_name
        return show(self.fig, notebook_handle=True)

    def batch_cb(self, param):
        if param.nbatch % self.frequent == 0:
            self._process_batch(param, "train")
        super().batch_cb(param)

    def eval_cb(self, param):
        self._process_batch(param, "eval")
        super().eval_cb(param)

    def _process_batch(self, param, name):
        times, values = self._points[name]
        value = _metrics(param).get(self.metric_name)
        if value is not None:
            times.append(datetime.datetime.now() - self.start_time)
            values.append(value)

    def update_chart_data(self):
        for name, (times, values) in self._points.items():
            self._lines[name].data_source.data = {"x": list(times), "y": list(values)}


def args_wrapper(*args):
    """Keywords of `fit` that let it call all of several such objects.

    Examples
    --------
    >>> import pandas
    >>> from headrace.mxnet.notebook.callback import PandasLogger, args_wrapper
    >>> both = args_wrapper(PandasLogger(batch_size=8), PandasLogger(batch_size=8))
    >>> {name: len(functions) for name, functions in both.items()}
    {'batch_end_callback': 2, 'eval_end_callback': 2, 'epoch_end_callback': 2}
    """
    joined = collections.defaultdict(list)
    for one in args:
        for name, function in one.callback_args().items():
            joined[name].append(function)
    return dict(joined)
