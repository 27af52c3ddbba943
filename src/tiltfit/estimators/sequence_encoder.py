"""From sequences as users give them to a model: attributes of positions, kinds of edges, weights as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from tiltfit.data.attributes import AttributeRows
from tiltfit.data.sequences import Kind, Sequences, as_sequences
from tiltfit.errors import ConflictError, DataError, TiltfitWarning, UnsupportedError, did_you_mean, warn_user
from tiltfit.estimators.earlier_models import SequenceBase
from tiltfit.estimators.token_vectors import TokenVectors, fit_token_vectors, vector_names
from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures, OccupiedFeatures
from tiltfit.features.beside import Beside, BesideFeatures, VectorFeatures
from tiltfit.features.chains import ChainFeatures
from tiltfit.features.edges import EdgeTemplates
from tiltfit.features.hashing import buckets, joined
from tiltfit.features.observed import ObservedFeatures
from tiltfit.features.tokens import AttributeEncoder, AttributeTemplates, TokenEncoder, TokenTemplates
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Potentials
from tiltfit.language.scheme import invalid, is_scheme, parse
from tiltfit.models.log_linear import LogLinear
from tiltfit.projections.grounding import Grounded
from tiltfit.samples.sample import Sample

T = TypeVar("T", TokenTemplates, EdgeTemplates)
Matrix = sparse.csr_array | Beside

BOUNDARIES = ("<start>", "<end>")

NOTHING = TokenTemplates.only()
TOKEN_ALONE = TokenTemplates.only(lower=(0,))
PLAIN_EDGES = EdgeTemplates(before={})
"""The default features of a hidden Markov model: the token, and the label before."""


@dataclass(frozen=True, eq=False)
class SequenceEncoder:
    """Encodes sequences as attributes (``attributes``), kinds of edges (``edges``) and, if there are any, vectors."""

    attributes: TokenEncoder | AttributeEncoder
    edges: EdgeTemplates
    boundaries: bool
    vectors: TokenVectors | None = None

    @staticmethod
    def fit(
        sequences: Sequences, features: Any, transitions: Any, *, boundaries: bool
    ) -> tuple[SequenceEncoder, Matrix]:
        """Learn which attributes occur, and encode."""
        templates = as_templates(features, sequences.kind)
        edges = as_edge_templates(transitions)
        check_edges(edges, sequences)
        vectors = fit_token_vectors(templates.vectors, sequences)  # first: the encoder may not be installed
        fitted, matrix = templates.fit(sequences.items, sequences.offsets)
        if not fitted.names and templates.min_count > 1 and vectors is None:
            raise DataError(
                f"min_count={templates.min_count} drops every attribute: none is at so many of the {sequences.n} "
                "positions. Lower it.",
                parameter="features",
            )
        encoder = SequenceEncoder(fitted, edges, bool(boundaries), vectors)
        encoder._refuse_names_of_vectors()
        return encoder, encoder._complete(matrix, sequences)

    @property
    def takes_given(self) -> bool:
        """True if vectors of tokens have to come beside X."""
        return self.vectors is not None and self.vectors.takes_given

    @property
    def kind(self) -> Kind:
        """The kind of items that it encodes."""
        return "tokens" if isinstance(self.attributes, TokenEncoder) else "attributes"

    @property
    def names(self) -> Sequence[str]:
        """The dimensions of vectors, and the attributes of positions."""
        of_vectors = () if self.vectors is None else vector_names(self.vectors.dimensions)
        return joined(of_vectors, self.attributes.names, BOUNDARIES if self.boundaries else ())

    @property
    def edge_names(self) -> list[str]:
        """The attributes of edges."""
        return list(self.edges.names(tokens=self.kind == "tokens"))

    def anew(self) -> SequenceEncoder:
        """The encoder as it was before its first sequence: it does not learn from streams."""
        return self

    def transform(self, sequences: Sequences) -> Matrix:
        """Positions × attributes, beside their vectors if there are any."""
        if sequences.kind != self.kind and sequences.n:
            raise DataError(f"This tagger was fitted on {self.kind}, but X holds {sequences.kind}.", parameter="X")
        return self._complete(self.attributes.transform(sequences.items, sequences.offsets), sequences)

    def model(
        self,
        matrix: Matrix,
        sample: Sample,
        workers: Workers,
        *,
        valid: bool,
        observed: bool = False,
        occupied: bool = False,
        base: SequenceBase | None = None,
    ) -> LogLinear:
        """p_λ on these sequences, built on ``base``. ``valid``: only well-formed label sequences. ``observed``: only
        pairs of attribute and label that known labels show have a weight. ``occupied``: hashed columns that are
        empty here have no weights."""
        sequences, classes = as_sequences(sample.inputs), sample.classes
        kinds = self.edges.kinds(sequences.items, sequences.offsets)
        index, attributes = kinds.index, np.asarray(kinds.attributes.toarray())
        q0 = None
        if base is not None:
            table = np.zeros((1, len(classes), len(classes))) if base.edge is None else base.edge
            theirs = np.zeros_like(index) if base.kind is None else base.kind
            # An edge of ours may be of several kinds of the base's, and the other way round.
            both, index = np.unique(index * len(table) + theirs, return_inverse=True)
            attributes = attributes[both // len(table)]
            q0 = Potentials(base.node, table[both % len(table)])
        structure = Chains(sequences.offsets, index.ravel().astype(np.int32), len(attributes))
        attributed = matrix.attributes if isinstance(matrix, Beside) else matrix
        others: AttributeFeatures | ObservedFeatures
        if observed:
            others = ObservedFeatures.of(attributed, sample.labels, len(classes), workers)
        elif occupied and buckets(self.names):
            others = OccupiedFeatures.of(attributed, len(classes), workers, intercept=False)
        else:
            others = AttributeFeatures(attributed, len(classes), workers, intercept=False)
        nodes: AttributeFeatures | ObservedFeatures | BesideFeatures = others
        if isinstance(matrix, Beside):
            nodes = BesideFeatures(VectorFeatures(matrix.vectors, len(classes), workers), others)
        features = ChainFeatures(nodes, np.ascontiguousarray(attributes))
        allowed = valid_only(classes, structure) if valid else None
        return LogLinear(features, structure, allowed if q0 is None else q0 if allowed is None else q0 + allowed)

    def _complete(self, matrix: sparse.csr_array, sequences: Sequences) -> Matrix:
        """With boundaries, and beside the vectors."""
        whole = self._with_boundaries(matrix, sequences)
        return whole if self.vectors is None else Beside(self.vectors.transform(sequences), whole)

    def _refuse_names_of_vectors(self) -> None:
        if self.vectors is None or buckets(self.attributes.names):
            return
        taken = next(iter({*vector_names(self.vectors.dimensions)} & {*self.attributes.names}), None)
        if taken is not None:
            raise DataError(
                f"X holds an attribute {taken!r}, which is the name of a dimension of features=. Rename the attribute.",
                parameter="X",
            )

    def _with_boundaries(self, matrix: sparse.csr_array, sequences: Sequences) -> sparse.csr_array:
        if not self.boundaries:
            return matrix
        full = sequences.lengths > 0
        first, last = sequences.offsets[:-1][full], sequences.offsets[1:][full] - 1
        where = np.concatenate([first, last])
        column = np.repeat([0, 1], [len(first), len(last)])
        ends = sparse.coo_array((np.ones(len(where)), (where, column)), shape=(sequences.n, 2))
        return sparse.csr_array(sparse.hstack([matrix, ends], format="csr"))


def valid_only(classes: Sequence[object], structure: Chains) -> Potentials | None:
    """−inf where BIO or IOBES forbids a label or a pair of labels; None where it forbids nothing."""
    start, end, pair = invalid(classes)
    if not (start.any() or end.any() or pair.any()):
        return None
    node = np.zeros((int(structure.offsets[-1]), len(classes)))
    node[structure.first] += np.where(start, -np.inf, 0.0)
    node[structure.last] += np.where(end, -np.inf, 0.0)
    edge = np.where(pair, -np.inf, 0.0)
    return Potentials(node, np.repeat(edge[None], structure.n_kinds, axis=0))


def refuse_invalid(sample: Sample) -> None:
    """Refuse known labels that are not well formed, which have probability 0 where only valid sequences are allowed,
    and plain classes, which are always well formed: a user who asks for valid tags expects something else."""
    labels, classes, sequences = sample.labels, sample.classes, as_sequences(sample.inputs)
    if not is_scheme(classes):
        odd = next((c for c in classes if parse(c) is None), classes[0])
        raise UnsupportedError(
            f"valid_only=True allows only tags that are well formed in BIO or IOBES, but the classes are not such tags "
            f"(like 'O', 'B-x' and 'I-x'): {odd!r} is one of them. Leave out valid_only=True, or name tags.",
            parameter="valid_only",
        )
    start, end, pair = invalid(classes)
    bad = np.zeros(len(labels), dtype=np.bool_)
    first, last = sequences.offsets[:-1], sequences.offsets[1:] - 1
    bad[first] |= (labels[first] >= 0) & start[labels[first]]
    bad[last] |= (labels[last] >= 0) & end[labels[last]]
    inner = np.setdiff1d(np.arange(len(labels)), first)
    before, after = labels[inner - 1], labels[inner]
    bad[inner] |= (before >= 0) & (after >= 0) & pair[before, after]
    if bad.any():
        i, *others = map(int, np.flatnonzero(bad))
        why = (
            f"is labelled {classes[labels[i]]!r}, which may not stand there (BIO or IOBES). Correct it, or leave out "
            "valid_only=True."
        )
        raise sequences.refused(i, why, "y", others)


def refuse_impossible(model: LogLinear, sample: Sample, grounded: Grounded) -> None:
    """Refuse a sequence that well-formedness, known labels and rules leave without any labelling."""
    if model.base is None or not model.structure.has_edges:
        return
    whole = np.flatnonzero(model.structure.best(model.base, model.workers)[1] == -np.inf)
    if len(whole):
        numbers = sample.number[whole]
        raise DataError(
            f"Sequence {numbers[0]} has no well-formed labelling with these classes (BIO or IOBES) that base=, if "
            "there is one, allows. Add the tag that is missing to classes=, or leave out valid_only=True.",
            instances=numbers,
        )
    tilt = grounded.tilt
    if tilt is None or tilt.rules is None:
        return
    here = Potentials(model.base.node[model.structure.positions(grounded.touched)], model.base.edge)
    ruled = tilt.base(here, np.zeros(len(grounded.touched)))
    empty = tilt.structure.impossible(ruled, model.workers)
    if len(empty):
        numbers = sample.number[grounded.touched[empty]]
        raise ConflictError(
            f"No well-formed labelling (BIO or IOBES) is left for sequence {numbers[0]}: its known "
            "labels and the constraints that rule labels out contradict it. Correct them, or leave out "
            "valid_only=True.",
            instances=numbers,
        )


def as_templates(features: Any, kind: str) -> TokenTemplates | AttributeTemplates:
    """``features=`` as templates for sequences of this kind."""
    if kind == "tokens":
        return _given_templates("features", features, TokenTemplates)
    if features is None or isinstance(features, AttributeTemplates):
        return features or AttributeTemplates()
    what, apply = "features=", "leave it out"
    if isinstance(features, Mapping):
        unknown = [name for name in features if name not in ("min_count", "hashing")]
        if not unknown:
            return AttributeTemplates(**features)
        what, apply = f"features={{{unknown[0]!r}: ...}}", "only 'min_count' and 'hashing' apply to them"
    raise DataError(
        f"{what} makes attributes of tokens, but X holds attributes already: {apply}.", parameter="features"
    )


def as_edge_templates(transitions: Any) -> EdgeTemplates:
    """``transitions=`` as templates."""
    return _given_templates("transitions", transitions, EdgeTemplates)


def _given_templates(parameter: str, given: Any, kind: type[T]) -> T:
    if given is None or isinstance(given, kind):
        return given or kind()
    if isinstance(given, Mapping):
        return kind.from_document(given)
    if parameter == "features" and isinstance(given, list | tuple | np.ndarray):
        raise DataError(
            f"features= of the constructor must be {kind.__name__}(...) or a dict of its parameters, but is of type "
            f"{type(given).__name__}. Vectors of tokens come with X: fit(X, y, features=[...]).",
            parameter=parameter,
        )
    raise DataError(
        f"{parameter}={given!r:.80} must be {kind.__name__}(...) or a dict of its parameters.", parameter=parameter
    )


def check_edges(edges: EdgeTemplates, sequences: Sequences) -> None:
    """Warn about attributes of transitions that occur nowhere: they are probably misspelt."""
    if not edges.attributes:
        return
    if not isinstance(sequences.items, AttributeRows):
        raise DataError(
            f"transitions={{'attributes': {list(edges.attributes)!r}}} names attributes, but X holds tokens. Say which "
            "tokens with 'before' or 'at': a name and a pattern each.",
            parameter="transitions",
        )
    known = sequences.items.names
    for name in edges.attributes:
        if name not in known:
            warn_user(
                f"The attribute {name!r} of transitions= occurs nowhere in X, so transitions cannot depend on it."
                f"{did_you_mean(name, known)}",
                TiltfitWarning,
            )


def refuse_for_hmm(features: Any, transitions: Any, weights: str, sequences: Sequences) -> None:
    """Refuse parameters that an HMM cannot have: its transitions depend on the label before alone, one per pair, and it
    generates the attributes of tokens."""
    if sequences.vectors is not None or as_templates(features, sequences.kind).vectors is not None:
        raise UnsupportedError(
            "Vectors of tokens with model='hmm', which generates counts of attributes. Use model='crf', or leave out "
            f"{'features=' if sequences.vectors is not None else 'vectors='}.",
            parameter="features",
        )
    edges = as_edge_templates(transitions or PLAIN_EDGES).names(tokens=sequences.kind == "tokens")
    if len(edges) > 1:
        raise UnsupportedError(
            f"transitions= makes transitions depend on {edges[1]!r}, but those of model='hmm' depend on the label "
            "before alone. Leave it out, or use model='crf'.",
            parameter="transitions",
        )
    if weights != "all":
        raise UnsupportedError(
            f"weights={weights!r} leaves pairs of attribute and label without a weight, but with model='hmm' every "
            "pair has a probability. Use weights='all'.",
            parameter="weights",
        )
