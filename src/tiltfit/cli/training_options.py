"""Options that say how to train, by the names of the estimators' parameters."""

from __future__ import annotations

from typing import Annotated, Any

import typer

TRAINING = "Training (defaults: those of TiltClassifier and TiltTagger)"
CLASSIFIER = "Training: classifiers"
TAGGER = "Training: taggers"

# Options whose names are not those of the parameters.
RENAMED = {"jobs": "n_jobs", "seed": "random_state"}


def training_option(text: str, panel: str = TRAINING, metavar: str | None = None) -> Any:
    """An option of one of the panels above, without a default of its own."""
    return typer.Option(help=text, rich_help_panel=panel, show_default=False, metavar=metavar)


ClassesOption = Annotated[
    str | None, typer.Option(metavar="A,B,...", help="Classes, if no file names them all.", show_default=False)
]
ModelOption = Annotated[
    str | None, training_option("maxent, naive_bayes or bernoulli_naive_bayes; of taggers: crf or hmm.")
]
MethodOption = Annotated[
    str | None, training_option("ap, or what it is compared with: ge, codl, em, supervised, vote and others.")
]
AlphaOption = Annotated[float | None, training_option("Strength of the ridge penalty on weights.")]
BetaOption = Annotated[float | None, training_option("Softness of constraints: smaller is closer to the target.")]
GammaOption = Annotated[float | None, training_option("Weight of unlabelled against labelled data.")]
ScaleOption = Annotated[
    str | None, training_option("unit or support: whether the pull of a constraint grows with the data.")
]
InitOption = Annotated[str | None, training_option("Where to start: zeros, supervised, constraints or random.")]
MaxIterOption = Annotated[int | None, training_option("At most this many rounds.")]
TolOption = Annotated[float | None, training_option("Stop when the gradient is this small.")]
JobsOption = Annotated[int | None, training_option("Threads; -1: one a core.")]
VectorizerOption = Annotated[
    str | None, training_option("auto, tfidf, counts, binary or hashing: how texts become features.", CLASSIFIER)
]
InferenceOption = Annotated[
    str | None, training_option("auto, exact or sampled: how statistics of whole sequences are inferred.", TAGGER)
]
