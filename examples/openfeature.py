"""Any application with OpenFeature: a flag is a study, its value an arm, and a tracked event its reward.

pip install 'satisfice[live,openfeature]'
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.remove(str(Path(__file__).parent))  # this file is called like the package that it shows

from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.track import TrackingEventDetails

import satisfice as sf
from satisfice.integrations.openfeature import SatisficeProvider

DATABASE = "sqlite:///flags.db"
SOLD = {"email": 0.10, "letter": 0.50, "call": 0.52}  # how often each channel sells; nobody knows that
sf.create_study("channel", {"email": 0.01, "letter": 1.0, "call": 8.0}, sf.BestReward(0.2), storage=DATABASE, seed=1)

provider = SatisficeProvider(DATABASE)
api.set_provider(provider)
client, rng = api.get_client(), random.Random(1)
for i in range(1_500):
    customer = EvaluationContext(f"customer {i}")
    channel = client.get_string_value("channel", "letter", customer)
    client.track("channel", customer, TrackingEventDetails(float(rng.random() < SOLD[channel])))
    if i % 50 == 0:
        provider.flush()  # rewards go in the background; here the whole traffic takes a second
provider.flush()

study = sf.load_study("channel", DATABASE)
print(study.status())
assert study.verdict().leader == "letter"
api.shutdown()
