"""Recurrent layers, their cells and the wrappers over time."""

from __future__ import annotations

from keras import layers

from sweep.case import Case, Cases, floats, mask

X, STATE = floats(2, 5, 4), floats(2, 3, seed=1)
STEP = floats(2, 4)

CASES: Cases = {
    "SimpleRNN": Case(lambda: layers.SimpleRNN(3), (X,)),
    "SimpleRNN, stateful": Case(lambda: layers.SimpleRNN(3, stateful=True), (X,)),
    "SimpleRNN, dropout": Case(lambda: layers.SimpleRNN(3, dropout=0.5, recurrent_dropout=0.5), (X,)),
    "GRU": Case(lambda: layers.GRU(3), (X,)),
    "GRU, sequences": Case(lambda: layers.GRU(3, return_sequences=True, reset_after=False, go_backwards=True), (X,)),
    "GRU, unrolled": Case(lambda: layers.GRU(3, unroll=True, return_state=True), (X,)),
    "LSTM": Case(lambda: layers.LSTM(3), (X,)),
    "LSTM, sequences and state": Case(lambda: layers.LSTM(3, return_sequences=True, return_state=True), (X,)),
    "LSTM, mask": Case(lambda: layers.LSTM(3, return_sequences=True), (X,), {"mask": mask(2, 5)}),
    "LSTM, initial state": Case(lambda: layers.LSTM(3), (X,), {"initial_state": [STATE, floats(2, 3, seed=2)]}),
    "LSTM, dropout": Case(lambda: layers.LSTM(3, dropout=0.5, recurrent_dropout=0.5, seed=1), (X,)),
    "SimpleRNNCell": Case(lambda: layers.SimpleRNNCell(3), (STEP, STATE)),
    "GRUCell": Case(lambda: layers.GRUCell(3), (STEP, [STATE])),
    "LSTMCell": Case(lambda: layers.LSTMCell(3), (STEP, [STATE, floats(2, 3, seed=2)])),
    "LSTMCell, dropout": Case(
        lambda: layers.LSTMCell(3, dropout=0.5, recurrent_dropout=0.5), (STEP, [STATE, floats(2, 3, seed=2)])
    ),
    "StackedRNNCells": Case(
        lambda: layers.StackedRNNCells([layers.GRUCell(3), layers.SimpleRNNCell(2)]), (STEP, [STATE, floats(2, 2)])
    ),
    "RNN": Case(lambda: layers.RNN(layers.GRUCell(3)), (X,)),
    "RNN, of two cells": Case(
        lambda: layers.RNN([layers.LSTMCell(3), layers.LSTMCell(2)], return_sequences=True, return_state=True), (X,)
    ),
    "RNN, mask": Case(
        lambda: layers.RNN(layers.SimpleRNNCell(3), return_sequences=True, zero_output_for_mask=True),
        (X,),
        {"mask": mask(2, 5)},
    ),
    "Bidirectional": Case(lambda: layers.Bidirectional(layers.LSTM(3)), (X,)),
    "Bidirectional, sum of sequences": Case(
        lambda: layers.Bidirectional(layers.GRU(3, return_sequences=True), merge_mode="sum"), (X,)
    ),
    "Bidirectional, own backward layer": Case(
        lambda: layers.Bidirectional(
            layers.SimpleRNN(3), merge_mode=None, backward_layer=layers.SimpleRNN(2, go_backwards=True)
        ),
        (X,),
    ),
    "TimeDistributed": Case(lambda: layers.TimeDistributed(layers.Dense(3)), (X,)),
    "TimeDistributed, of Conv2D": Case(lambda: layers.TimeDistributed(layers.Conv2D(2, 3)), (floats(2, 3, 5, 4, 3),)),
    "TimeDistributed, mask": Case(lambda: layers.TimeDistributed(layers.Dense(3)), (X,), {"mask": mask(2, 5)}),
    "ConvLSTM1D": Case(lambda: layers.ConvLSTM1D(2, 3), (floats(2, 3, 6, 2),)),
    "ConvLSTM2D": Case(lambda: layers.ConvLSTM2D(2, 3, padding="same"), (floats(2, 3, 5, 4, 2),)),
    "ConvLSTM2D, sequences": Case(
        lambda: layers.ConvLSTM2D(2, 2, return_sequences=True, dropout=0.5), (floats(2, 3, 5, 4, 2),)
    ),
    "ConvLSTM3D": Case(lambda: layers.ConvLSTM3D(2, 2), (floats(2, 2, 3, 3, 3, 2),)),
}
