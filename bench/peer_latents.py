"""Times how sd-scripts caches latents. Run by the peer's runner in place of train_network.py (bench/paired does that), with its arguments;
ends after the caching. Prints "PEER latents_s=...". Nothing of sd-scripts is changed."""
import os
import runpy
import sys
import time

from library import train_util

plain = train_util.DatasetGroup.new_cache_latents


def timed(self, model, accelerator):
    start = time.time()
    plain(self, model, accelerator)
    print(f"PEER latents_s={time.time() - start:.4f}", flush=True)
    sys.exit(0)


train_util.DatasetGroup.new_cache_latents = timed
runpy.run_path(os.path.join(os.getcwd(), "train_network.py"), run_name="__main__")
