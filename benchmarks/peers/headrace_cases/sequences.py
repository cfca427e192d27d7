"""Recurrent networks, a transformer's encoder, and CTC."""

import math

from headrace import autograd, gluon, nd, np, npx

nn = gluon.nn
BATCH, STEPS, SIZE, WORDS = 32, 35, 256, 10_000
# One batch over and over is soon learnt by heart: its gradients become denormal numbers, for which some
# processors take a hundred times as long. Steps this small do not get there.
RATE = 1e-5


def waiting(run):
    def run_and_wait():
        run()
        npx.waitall()

    return run_and_wait


def layer(kind):
    net = kind(SIZE, num_layers=2, input_size=SIZE)
    net.initialize()
    net.hybridize()
    x = np.random.uniform(size=(STEPS, BATCH, SIZE))
    x.attach_grad()
    return net, x


def forward(kind):
    net, x = layer(kind)
    return waiting(lambda: net(x))


def forward_and_backward(kind):
    net, x = layer(kind)

    def run():
        with autograd.record():
            y = net(x)
        y.backward()

    return waiting(run)


class LanguageModel(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.embed, self.decode = nn.Embedding(WORDS, SIZE), nn.Dense(WORDS, flatten=False, in_units=SIZE)
        self.recur = gluon.rnn.LSTM(SIZE, num_layers=2, input_size=SIZE)

    def hybrid_forward(self, F, words):
        return self.decode(self.recur(self.embed(words)))


def training(net, x, y):
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    loss_of.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": RATE})

    def run():
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(BATCH)

    return waiting(run)


def language_model():
    words = np.random.randint(0, WORDS, size=(STEPS + 1, BATCH)).astype("float32")
    return training(LanguageModel(), words[:-1], words[1:])


class EncoderLayer(nn.HybridBlock):
    def __init__(self, heads=4):
        super().__init__()
        self._heads = heads
        self.read, self.write = (nn.Dense(n, flatten=False, in_units=SIZE) for n in (3 * SIZE, SIZE))
        self.widen = nn.Dense(4 * SIZE, flatten=False, in_units=SIZE, activation="relu")
        self.narrow = nn.Dense(SIZE, flatten=False, in_units=4 * SIZE)
        self.norm1, self.norm2 = nn.LayerNorm(in_channels=SIZE), nn.LayerNorm(in_channels=SIZE)
        self.drop = nn.Dropout(0.1)

    def attend(self, F, x):
        parts = F.np.split(self.read(x), 3, axis=-1)
        query, key, value = (
            F.np.transpose(F.npx.reshape(part, (-2, -2, self._heads, -1)), (0, 2, 1, 3)) for part in parts
        )
        query, key, value = (F.npx.reshape(part, (-5, -4)) for part in (query, key, value))
        scores = F.npx.batch_dot(query, key, transpose_b=True) / math.sqrt(SIZE / self._heads)
        mixed = F.npx.batch_dot(self.drop(F.npx.softmax(scores)), value)
        mixed = F.np.transpose(F.npx.reshape(mixed, (-6, -1, self._heads, -4)), (0, 2, 1, 3))
        return self.write(F.npx.reshape(mixed, (-2, -2, -5)))

    def hybrid_forward(self, F, x):
        x = self.norm1(x + self.drop(self.attend(F, x)))
        return self.norm2(x + self.drop(self.narrow(self.drop(self.widen(x)))))


def transformer():
    net = nn.HybridSequential()
    net.add(*(EncoderLayer() for _ in range(4)), nn.Dense(10, in_units=64 * SIZE))
    return training(net, np.random.uniform(size=(BATCH, 64, SIZE)), np.zeros((BATCH,)))


def ctc():
    x = nd.random.uniform(shape=(100, BATCH, 64))
    labels = nd.floor(nd.random.uniform(1, 64, shape=(BATCH, 20)))
    x.attach_grad()

    def run():
        with autograd.record():
            loss = nd.CTCLoss(x, labels)
        loss.backward()

    return waiting(run)


KINDS = {"LSTM": gluon.rnn.LSTM, "GRU": gluon.rnn.GRU}
CASES = {
    **{f"{name} 2 x 256, batch 32, 35 steps": lambda k=kind: forward(k) for name, kind in KINDS.items()},
    **{
        f"{name} 2 x 256, batch 32, 35 steps, forward and backward": lambda k=kind: forward_and_backward(k)
        for name, kind in KINDS.items()
    },
    "LSTM language model step, 2 x 256, batch 32, 35 steps": language_model,
    "transformer encoder step, 4 layers of 256, batch 32 x 64": transformer,
    "CTC loss of 100 steps, 64 classes, batch 32, forward and backward": ctc,
}
