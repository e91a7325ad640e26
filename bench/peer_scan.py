"""Times how sd-scripts reads a data set: folders, sizes, captions, buckets. Run by the peer's runner in place of a training script
(bench/paired does that), with the arguments of train_network.py. Prints "PEER scan_s=... pictures=...". Nothing of sd-scripts is changed."""
import time

import train_network
from library import config_util, strategy_base, train_util
from library.config_util import BlueprintGenerator, ConfigSanitizer

args = train_network.setup_parser().parse_args()
train_util.prepare_dataset_args(args, True)
trainer = train_network.NetworkTrainer()
strategy_base.TokenizeStrategy.set_strategy(trainer.get_tokenize_strategy(args))
strategy_base.LatentsCachingStrategy.set_strategy(trainer.get_latents_caching_strategy(args))
start = time.time()
subsets = config_util.generate_dreambooth_subsets_config_by_subdirs(args.train_data_dir, None)
blueprint = BlueprintGenerator(ConfigSanitizer(True, True, False, True)).generate({"datasets": [{"subsets": subsets}]}, args)
group, _ = config_util.generate_dataset_group_by_blueprint(blueprint.dataset_group)
print(f"PEER scan_s={time.time() - start:.4f} pictures={group.num_train_images}", flush=True)
