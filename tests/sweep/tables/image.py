"""Image preprocessing and augmentation."""

from __future__ import annotations

import numpy as np
from keras import layers

from sweep.case import Case, Cases, floats, ids, image

BOXES = {
    "boxes": (np.random.default_rng(0).random((2, 3, 4)) * 4).astype("float32"),
    "labels": ids(2, 3, below=3),
}

# Keras on JAX writes out every bin of a histogram, and XLA takes a minute for the 256 bins that are the default.
BINS = 16


def rand_augment() -> layers.RandAugment:
    layer = layers.RandAugment(num_ops=1, seed=1)
    layer.equalization.bins = BINS
    return layer


CASES: Cases = {
    "AugMix": Case(lambda: layers.AugMix(num_chains=1, chain_depth=1, seed=1), (image(),)),
    "AutoContrast": Case(lambda: layers.AutoContrast(), (image(),)),
    "CenterCrop": Case(lambda: layers.CenterCrop(4, 4), (image(),)),
    "CenterCrop, of larger": Case(lambda: layers.CenterCrop(10, 9), (image(),)),
    "ContrastLimitedAdaptiveHistogramEqualization": Case(
        lambda: layers.ContrastLimitedAdaptiveHistogramEqualization(tile_grid_size=(2, 2)),
        (image(),),
        since="3.14",
    ),
    "CutMix": Case(lambda: layers.CutMix(seed=1), (image(),)),
    "CutMix, with labels": Case(lambda: layers.CutMix(seed=1), ({"images": image(), "labels": floats(2, 3)},)),
    "Equalization": Case(lambda: layers.Equalization(bins=BINS), (image(),)),
    "MaxNumBoundingBoxes": Case(
        lambda: layers.MaxNumBoundingBoxes(2, bounding_box_format="xyxy"),
        ({"images": image(), "bounding_boxes": BOXES},),
    ),
    "MixUp": Case(lambda: layers.MixUp(seed=1), (image(),)),
    "RandAugment": Case(rand_augment, (image(),)),
    "RandomBrightness": Case(lambda: layers.RandomBrightness(0.3), (image(),)),
    "RandomColorDegeneration": Case(lambda: layers.RandomColorDegeneration(0.5), (image(),)),
    "RandomColorJitter": Case(
        lambda: layers.RandomColorJitter(
            brightness_factor=0.2, contrast_factor=0.2, saturation_factor=(0.4, 0.6), hue_factor=0.1
        ),
        (image(),),
    ),
    "RandomContrast": Case(lambda: layers.RandomContrast(0.3), (image(),)),
    "RandomCrop": Case(lambda: layers.RandomCrop(4, 4, seed=1), (image(),)),
    "RandomElasticTransform": Case(lambda: layers.RandomElasticTransform(seed=1), (image(),)),
    "RandomErasing": Case(lambda: layers.RandomErasing(), (image(),)),
    "RandomFlip": Case(lambda: layers.RandomFlip(), (image(),)),
    "RandomFlip, training": Case(lambda: layers.RandomFlip("horizontal", seed=1), (image(),), {"training": True}),
    "RandomGaussianBlur": Case(lambda: layers.RandomGaussianBlur(), (image(),)),
    "RandomGrayscale": Case(lambda: layers.RandomGrayscale(), (image(),)),
    "RandomHue": Case(lambda: layers.RandomHue(0.3), (image(),)),
    "RandomInvert": Case(lambda: layers.RandomInvert(), (image(),)),
    "RandomPerspective": Case(lambda: layers.RandomPerspective(), (image(),)),
    "RandomPosterization": Case(lambda: layers.RandomPosterization(4), (image(),)),
    "RandomRotation": Case(lambda: layers.RandomRotation(0.2), (image(),)),
    "RandomSaturation": Case(lambda: layers.RandomSaturation(0.3), (image(),)),
    "RandomSharpness": Case(lambda: layers.RandomSharpness(0.3), (image(),)),
    "RandomShear": Case(lambda: layers.RandomShear(0.2, 0.2), (image(),)),
    "RandomTranslation": Case(lambda: layers.RandomTranslation(0.2, 0.2), (image(),)),
    "RandomZoom": Case(lambda: layers.RandomZoom(0.2), (image(),)),
    "Resizing": Case(lambda: layers.Resizing(4, 5), (image(),)),
    "Resizing, cropped": Case(lambda: layers.Resizing(4, 4, crop_to_aspect_ratio=True), (image(),)),
    "Resizing, nearest and padded": Case(
        lambda: layers.Resizing(12, 12, interpolation="nearest", pad_to_aspect_ratio=True), (image(),)
    ),
    "Solarization": Case(lambda: layers.Solarization(addition_factor=0.2, threshold_factor=0.5), (image(),)),
}
