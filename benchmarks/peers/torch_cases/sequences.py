"""Recurrent networks, a transformer's encoder, and CTC."""

import torch
from torch import nn

BATCH, STEPS, SIZE, WORDS = 32, 35, 256, 10_000
RATE = 1e-5  # small: see Headrace's cases


def forward(kind):
    net, x = kind(SIZE, SIZE, num_layers=2), torch.rand(STEPS, BATCH, SIZE)

    def run():
        with torch.no_grad():
            net(x)

    return run


def forward_and_backward(kind):
    net, x = kind(SIZE, SIZE, num_layers=2), torch.rand(STEPS, BATCH, SIZE, requires_grad=True)
    heads = torch.ones(STEPS, BATCH, SIZE)

    def run():
        net.zero_grad()
        x.grad = None
        net(x)[0].backward(heads)

    return run


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.decode = nn.Embedding(WORDS, SIZE), nn.Linear(SIZE, WORDS)
        self.recur = nn.LSTM(SIZE, SIZE, num_layers=2)

    def forward(self, words):
        return self.decode(self.recur(self.embed(words))[0])


def training(net, x, y):
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)

    def run():
        optimizer.zero_grad()
        loss_of(net(x).flatten(0, -2), y.flatten()).backward()
        optimizer.step()

    return run


def language_model():
    words = torch.randint(0, WORDS, (STEPS + 1, BATCH))
    return training(LanguageModel(), words[:-1], words[1:])


def transformer():
    layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(SIZE, 4, 4 * SIZE, 0.1, batch_first=True), 4)
    net = nn.Sequential(layers, nn.Flatten(), nn.Linear(64 * SIZE, 10))
    return training(net, torch.rand(BATCH, 64, SIZE), torch.zeros(BATCH, dtype=torch.long))


def ctc():
    x = torch.rand(100, BATCH, 64, requires_grad=True)
    labels = torch.randint(1, 64, (BATCH, 20))
    times, lengths = torch.full((BATCH,), 100), torch.full((BATCH,), 20)

    def run():
        x.grad = None
        scores = nn.functional.log_softmax(x, 2)
        nn.functional.ctc_loss(scores, labels, times, lengths, reduction="sum").backward()

    return run


KINDS = {"LSTM": nn.LSTM, "GRU": nn.GRU}
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
