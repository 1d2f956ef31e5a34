"""`wordmint rescore`: lists of hypotheses, ranked anew with a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from wordmint.errors import UserError

app = App(
    name="rescore",
    help="Rank the hypotheses of a speech, OCR or translation system anew.",
    default_parameter=Parameter(negative=()),
)
Format = Literal["jsonl", "kaldi", "espnet", "nemo", "srilm", "moses"]


@app.default
def rescore(
    model: str,
    nbest: Path,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    format: Format | None = None,
    beam: int = 10,
    alpha: float | None = None,
    beta: float | None = None,
    tune: Path | None = None,
    tune_references: Path | None = None,
    references: Path | None = None,
    carry: Annotated[bool, Parameter(negative="--no-carry")] = True,
    state: Path | None = None,
    save_state: Path | None = None,
    slots: int | None = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """final = score + alpha * log p + beta * words; the best hypothesis is what the next utterance goes on from.

    Parameters
    ----------
    model
        A model's folder, a run's folder, or OWNER/NAME on the Hub.
    nbest
        The list: JSON lines, Kaldi, NeMo or Moses files, ESPnet or SRILM folders.
    out
        Where to write the list with its new scores, in its own format. Without it, only the best texts are printed.
    format
        Of the list; without it, it is guessed.
    beam
        Rows an utterance in a NeMo list.
    alpha
        Weight of the model's log-probability; without it 0.5, or what tuning finds.
    beta
        Weight of each word; without it 0, or what tuning finds.
    tune
        A list to tune alpha and beta on.
    tune_references
        What was said in it, if the list does not say.
    references
        What was said in the list, to show word errors before and after.
    carry
        --no-carry begins every utterance from the same state.
    state
        Go on from a state that was saved.
    save_state
        Where to save the state after the list.
    slots
        Size of the cache, 0 to 10,000; without it, as in training.
    device
        Where to compute. auto: the GPU if there is one.
    """
    import sys

    from wordmint.commands.inputs import model_and_state
    from wordmint.progress import scoring_progress
    from wordmint.use import rescoring
    from wordmint.use.nbest import guess_format, read_nbest, write_nbest

    if tune and (alpha is not None or beta is not None):
        raise UserError("--tune finds --alpha and --beta; give the one or the others")
    if beam < 1:
        raise UserError(f"--beam {beam}: it must be at least 1")
    utterances = read_nbest(nbest, format, beam)
    said = _references(utterances, references, nbest, needed=references is not None)
    lm, before = model_and_state(model, device, state, slots)
    weights = rescoring.Weights(0.5 if alpha is None else alpha, beta or 0.0)
    if tune:
        known = read_nbest(tune, format, beam)
        heard = _references(known, tune_references, tune, needed=True)
        with scoring_progress(model, None, "tuning with", "utterances") as report:
            weights, rate = rescoring.tune(lm.language_model, known, heard, before, carry, report)
        print(f"alpha {weights.alpha:g}, beta {weights.beta:g}: {rate:.2%} word errors in {tune}", file=sys.stderr)
    with scoring_progress(model, len(utterances), "rescoring with", "utterances") as report:
        result = rescoring.rescore(lm.language_model, utterances, before, weights, carry, report)
    if out:
        write_nbest(out, result.utterances, format or guess_format(nbest))
    else:
        for one in result.utterances:
            print(one.name, one.hypotheses[0].text)
    if save_state:
        result.state.save(save_state)
    if said and (references or rescoring.can_count_errors()):
        old, new = (rescoring.word_error_rate(some, said) for some in (utterances, result.utterances))
        print(f"word errors: {old:.2%} before, {new:.2%} after", file=sys.stderr)


def _references(utterances, path: Path | None, nbest: Path, needed: bool) -> dict[str, str]:
    from wordmint.use.nbest import read_references

    if path:
        return read_references(path, utterances)
    within = {one.name: one.reference for one in utterances if one.reference is not None}
    if len(within) == len(utterances):
        return within
    if needed:
        raise UserError(f"{nbest}: the list does not say what was said; name a file with --references")
    return {}
