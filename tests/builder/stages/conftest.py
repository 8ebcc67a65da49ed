from small_model import config, references, state, utterances, voices  # noqa: F401  (fixtures)
