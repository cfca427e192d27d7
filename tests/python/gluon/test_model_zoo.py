"""Networks of the model zoo: structure, names, files of parameters, and one pass of small ones."""

import hashlib
import zipfile

import numpy
import pytest

import headrace as hr
from headrace import autograd, nd
from headrace.gluon.model_zoo import model_store, vision
from headrace.gluon.model_zoo.model_store import get_model_file


def parameter_count(net):
    return sum(numpy.prod(param.shape) for param in net.collect_params().values())


def test_get_model():
    assert isinstance(vision.get_model("resnet18_v1"), vision.ResNetV1)
    assert isinstance(vision.get_model("ResNet50_V2"), vision.ResNetV2)
    assert isinstance(vision.get_model("mobilenetv2_0.5"), vision.MobileNetV2)
    with pytest.raises(ValueError, match=r"Model nope is not supported. Available options are\n\talexnet\n"):
        vision.get_model("nope")


@pytest.mark.parametrize("name", sorted(vision._MODELS))
def test_classes(name):
    net = vision.get_model(name, classes=7)
    last = list(net.collect_params().values())[-1]
    assert last.shape[0] == 7


def test_names():
    net = vision.resnet18_v1(prefix="net_")
    names = list(net.collect_params())
    assert names[:3] == ["net_conv0_weight", "net_batchnorm0_gamma", "net_batchnorm0_beta"]
    assert "net_stage2_conv2_weight" in names
    assert names[-1] == "net_dense0_bias"
    paths = net._collect_params_with_prefix()
    assert "features.5.0.downsample.1.running_var" in paths
    assert paths["output.weight"].name == "net_dense0_weight"


def test_stages_must_fit_channels():
    with pytest.raises(AssertionError, match="one more number of channels"):
        vision.ResNetV1(vision.BasicBlockV1, [2, 2], [64, 64])
    with pytest.raises(AssertionError, match="as many layers as filters"):
        vision.VGG([1], [2, 3])


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: vision.get_resnet(3, 18), AssertionError, "Invalid resnet version: 3. Options are 1 and 2."),
        (lambda: vision.get_resnet(1, 19), AssertionError, "Invalid number of layers: 19. Options are"),
        (lambda: vision.get_vgg(12), KeyError, "12"),
        (lambda: vision.SqueezeNet("2.0"), AssertionError, "Unsupported SqueezeNet version 2.0:1.0 or 1.1"),
    ],
)
def test_unknown_variants(make, error, text):
    with pytest.raises(error, match=text):
        make()


class TestPretrained:
    def test_missing_file(self, tmp_path, monkeypatch):
        monkeypatch.setenv("MXNET_GLUON_REPO", (tmp_path / "nowhere").as_uri())
        with pytest.raises(OSError, match=r"put a file written by save_parameters at") as caught:
            vision.get_model("resnet18_v1", pretrained=True, root=str(tmp_path))
        assert str(tmp_path / "resnet18_v1.params") in str(caught.value)
        with pytest.raises(ValueError, match="nothing is not available"):
            get_model_file("nothing", tmp_path)

    def test_files_are_fetched(self, tmp_path, monkeypatch):
        network = small_resnet()
        network.initialize()
        network(images(16))
        network.save_parameters(str(tmp_path / "p"))
        content = (tmp_path / "p").read_bytes()
        digest = hashlib.sha1(content).hexdigest()
        models = tmp_path / "repository" / "gluon" / "models"
        models.mkdir(parents=True)
        with zipfile.ZipFile(models / f"resnet18_v1-{digest[:8]}.zip", "w") as archive:
            archive.writestr(f"resnet18_v1-{digest[:8]}.params", content)
        monkeypatch.setenv("MXNET_GLUON_REPO", (tmp_path / "repository").as_uri() + "/")
        monkeypatch.setitem(model_store._model_sha1, "resnet18_v1", digest)
        home = tmp_path / "home"
        assert get_model_file("resnet18_v1", home) == str(home / f"resnet18_v1-{digest[:8]}.params")
        assert [path.name for path in home.iterdir()] == [f"resnet18_v1-{digest[:8]}.params"]
        monkeypatch.setenv("MXNET_GLUON_REPO", "file:///nowhere")
        assert get_model_file("resnet18_v1", home)
        monkeypatch.setenv("MXNET_GLUON_REPO", (tmp_path / "repository").as_uri())
        monkeypatch.setitem(model_store._model_sha1, "resnet18_v1", digest[:8] + "0" * 32)
        with pytest.raises(OSError, match="SHA-1"):
            get_model_file("resnet18_v1", tmp_path / "other")
        assert not list((tmp_path / "other").iterdir())

    @pytest.mark.parametrize("name", ["squeezenet1.0.params", "squeezenet1.0-33ba0f93.params"])
    def test_file_names(self, tmp_path, name):
        (tmp_path / "squeezenet1.0-notahash.params").touch()
        (tmp_path / name).touch()
        assert get_model_file("squeezenet1.0", tmp_path) == str(tmp_path / name)

    def test_home(self, monkeypatch, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        folder = tmp_path / "here"
        folder.mkdir()
        (folder / "vgg11.params").touch()
        assert get_model_file("vgg11", "~/here") == str(folder / "vgg11.params")

    def test_load(self, tmp_path):
        first = small_resnet()
        first.initialize(hr.init.Normal(0.1))
        x = images(16)
        expected = first(x)
        first.save_parameters(str(tmp_path / "resnet18_v1.params"))
        second = small_resnet()
        second.load_parameters(get_model_file("resnet18_v1", tmp_path))
        assert (second(x).asnumpy() == expected.asnumpy()).all()


def images(size, count=2):
    return nd.array(numpy.random.default_rng(0).standard_normal((count, 3, size, size)), dtype="float32")


def small_resnet(version=1):
    network, block = {
        1: (vision.ResNetV1, vision.BasicBlockV1),
        2: (vision.ResNetV2, vision.BottleneckV2),
    }[version]
    return network(block, [1, 1], [8, 8, 16], classes=5, thumbnail=True)


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (small_resnet, 12),
        (lambda: small_resnet(2), 12),
        (lambda: vision.BottleneckV1(8, 2, True, in_channels=3), 8),
        (lambda: vision.VGG([1, 1], [4, 8], classes=5, batch_norm=True), 8),
        (lambda: vision.MobileNet(0.125, classes=5), 32),
        (lambda: vision.MobileNetV2(0.25, classes=5), 32),
        (lambda: vision.DenseNet(8, 4, [2, 2], 2, 0.1, 5), 64),
    ],
)
def test_training(make, size):
    net = make()
    net.initialize(hr.init.Xavier())
    x = images(size)
    with autograd.record():
        out = net(x)
    out.backward()
    assert numpy.isfinite(out.asnumpy()).all()
    for param in net.collect_params().values():
        if param.grad_req != "null":
            assert numpy.isfinite(param.grad().asnumpy()).all()
    shape = out.shape
    net.hybridize()
    assert net(x).shape == shape


@pytest.mark.parametrize(
    ("name", "size", "parameters"),
    [("resnet18_v1", 64, 11699112), ("squeezenet1.1", 224, 1235496), ("alexnet", 224, 61100840)],
)
def test_parameter_counts(name, size, parameters):
    net = vision.get_model(name)
    net.initialize()
    assert net(images(size, 1)).shape == (1, 1000)
    assert parameter_count(net) == parameters
