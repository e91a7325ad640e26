"""The settings of a set of goldens: `named(NAME)` for the fixed ones, `drawn(SEED)` for a random set.

Everything that a test could wrongly take for granted stands here: widths, levels, heads, groups, sizes, ranks, step counts."""
import copy
import random

import family_shapes

# Roughly a Stable Diffusion 1 checkpoint, 40 to 80 times narrower.
DEFAULT = {
    'sd15': {
        'unet': {'model_channels': 16, 'channel_mult': [1, 2, 2, 2], 'num_res_blocks': 2, 'attention_at_levels': [0, 1, 2],
                 'transformer_depth': 1, 'context_dim': 32, 'group_norm_groups': 4, 'num_heads': 2,
                 'head_counts_per_level': None},
        'text_encoder': {'vocab_size': 1024, 'hidden_size': 32, 'layers': 3, 'num_heads': 2, 'intermediate_size': 64,
                         'hidden_act': 'quick_gelu', 'max_position': 77},
        'vae': {'ch': 16, 'ch_mult': [1, 1, 2, 2], 'num_res_blocks': 2, 'z_channels': 4, 'group_norm_groups': 4},
        'weights_dtype': 'float32', 'has_extra_keys': False,
        'sample': [2, 16, 24], 'context': 77, 'odd_sample': [2, 18, 13], 'odd_context': 77, 'image': [1, 48, 64],
    },
    'adapters': {
        'sd15_lora': {'dim': 4, 'alpha': 2.0},
        'sd15_lora_conv': {'dim': 4, 'alpha': 2.0, 'conv_dim': 2, 'conv_alpha': 1.0},
    },
    'training': {
        'sd15_lora': {'args': {}, 'network': {'dim': 4, 'alpha': 2}, 'train_te': True, 'train_unet': True, 'lr': 1e-3,
                      'steps': 10, 'sample': [2, 16, 24], 'keep_grad': True},
        'sd15_lora_conv_snr': {'args': {'min_snr_gamma': 5.0, 'noise_offset': 0.1, 'clip_skip': 2},
                               'network': {'dim': 4, 'alpha': 2, 'conv_dim': 2, 'conv_alpha': 1}, 'train_te': False,
                               'train_unet': True, 'lr': 1e-3, 'steps': 10, 'sample': [2, 16, 24]},
        'sd15_lora_plus_accum': {'args': {}, 'network': {'dim': 2, 'alpha': 1, 'loraplus_lr_ratio': 4}, 'accum': 2,
                                 'te_lr': 5e-4, 'unet_lr': 1e-3, 'opt': {'weight_decay': 0.05, 'betas': [0.9, 0.99]},
                                 'max_grad_norm': 0.0, 'train_te': True, 'train_unet': True, 'lr': 1e-3, 'steps': 6,
                                 'sample': [2, 16, 24]},
        'sd15_lora_vpred_zsnr': {'args': {'v_parameterization': True, 'zero_terminal_snr': True, 'min_snr_gamma': 5.0},
                                 'network': {'dim': 2, 'alpha': 1}, 'train_te': False, 'train_unet': True, 'lr': 1e-3,
                                 'steps': 4, 'sample': [2, 16, 24]},
        'sd15_lora_huber_debiased': {'args': {'loss_type': 'huber', 'huber_schedule': 'snr', 'huber_c': 0.1,
                                              'debiased_estimation_loss': True, 'ip_noise_gamma': 0.1},
                                     'network': {'dim': 2, 'alpha': 1}, 'train_te': False, 'train_unet': True, 'lr': 1e-3,
                                     'steps': 4, 'sample': [2, 16, 24]},
        'sd15_lora_prior_masked': {'args': {'masked_loss': True}, 'network': {'dim': 2, 'alpha': 1}, 'mask': True,
                                   'loss_weights': [1.0, 0.4], 'train_te': True, 'train_unet': True, 'lr': 1e-3,
                                   'steps': 4, 'sample': [2, 16, 24]},
        'sd15_lora_blocks': {'args': {'scale_weight_norms': 0.2},
                             'network': {'dim': 3, 'alpha': 1, 'conv_dim': 2, 'conv_alpha': 1.5, 'loraplus_unet_lr_ratio': 3,
                                         'down_lr_weight': 'sine+.25', 'mid_lr_weight': '0.5', 'up_lr_weight': '1,0,,0.7',
                                         'block_dims': ','.join(str(1 + i % 4) for i in range(25)),
                                         'block_alphas': ','.join(str(0.5 * (1 + i % 3)) for i in range(25))},
                             'accum': 2, 'te_lr': 5e-4, 'train_te': True, 'train_unet': True, 'lr': 1e-3, 'steps': 4,
                             'sample': [2, 16, 24]},
    },
    'schedule': {'sample': [4, 4, 6, 10], 'pyramid': [2, 4, 24, 40], 'gammas': [1, 5, 20], 'steps': [10, 20],
                 'sampler_sample': [1, 2, 3, 4]},
    'data': {'bucket_sizes': 160, 'bucket_settings': 8, 'captions': 60, 'steps': 16, 'picture_side': 90},
    'tokenizer': {'ids': 120, 'chunks': 12, 'weighted': 30},
    'optim': {'is_drawn': False, 'steps': 20, 'kept': [1, 20], 'codes': 1000,
              'parameters': {'w2': [6, 10], 'w4': [5, 3, 3, 3], 'b1': [7], 's0': [], 'big': [48, 96]}},
}

# What the repository keeps: all kinds of cases in little space.
SMALL = {
    'sd15': {
        'unet': {'model_channels': 8, 'channel_mult': [1, 2, 2], 'num_res_blocks': 1, 'attention_at_levels': [1],
                 'transformer_depth': 1, 'context_dim': 12, 'group_norm_groups': 2, 'num_heads': None,
                 'head_counts_per_level': [1, 2, 4]},
        'text_encoder': {'vocab_size': 160, 'hidden_size': 12, 'layers': 2, 'num_heads': 3, 'intermediate_size': 24,
                         'hidden_act': 'quick_gelu', 'max_position': 77},
        'vae': {'ch': 4, 'ch_mult': [1, 2, 2], 'num_res_blocks': 1, 'z_channels': 4, 'group_norm_groups': 2},
        'has_extra_keys': True,
        'sample': [2, 8, 12], 'odd_sample': [3, 9, 7], 'odd_context': 152, 'image': [1, 20, 28],
    },
    'adapters': {
        'sd15_lora': {'dim': 2, 'alpha': 3},
        'sd15_lora_conv': {'dim': 9, 'alpha': 4.5, 'conv_dim': 3, 'conv_alpha': 1.0},
        'sd15_lora_plain': {'dim': 2, 'alpha': 2.0, 'is_alpha_left_out': True, 'dtype': 'float16'},
    },
    'training': {
        'sd15_lora': {'steps': 4, 'sample': [2, 8, 12]},
        'sd15_lora_conv_snr': {'network': {'dim': 2, 'alpha': 0.5, 'conv_dim': 3, 'conv_alpha': 2}, 'steps': 4,
                               'sample': [1, 9, 7], 'train_te': True, 'opt': {'weight_decay': 0.5}},
        'sd15_lora_plus_accum': {'steps': 3, 'sample': [3, 8, 4]},
        'sd15_lora_vpred_zsnr': {'steps': 3, 'sample': [2, 8, 4]},
        'sd15_lora_huber_debiased': {'steps': 3, 'sample': [2, 8, 4]},
        'sd15_lora_prior_masked': {'steps': 3, 'sample': [2, 8, 4]},
        'sd15_lora_blocks': {'steps': 3, 'sample': [2, 8, 4]},
    },
    'schedule': {'sample': [2, 4, 5, 6], 'pyramid': [2, 2, 14, 20], 'gammas': [0.5, 5], 'steps': [7, 26, 48]},
    'data': {'bucket_sizes': 40, 'bucket_settings': 4, 'captions': 40, 'steps': 8, 'picture_side': 30},
    'tokenizer': {'ids': 60, 'chunks': 3, 'weighted': 16},
    'optim': {'steps': 8, 'kept': [8], 'codes': 700, 'parameters': {'w2': [4, 5], 'w4': [3, 2, 3, 1], 'big': [64, 65]}},
}


def merged(base, changes):
    """`changes` over `base`, section by section; lists and single values are replaced whole."""
    result = copy.deepcopy(base)
    for key, value in changes.items():
        is_section = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if is_section else copy.deepcopy(value)
    return result


def named(name):
    sets = {'default': {}, 'small': SMALL}
    if name not in sets:
        raise SystemExit(f'--shapes {name}: expected default, small, drawn or a JSON file')
    families = merged(family_shapes.named('default'), family_shapes.named(name))
    return merged(merged(DEFAULT, sets[name]), families)


def _heads(rng, width):
    return rng.choice([n for n in (1, 2, 3, 4, 5, 8) if width % n == 0])


def _groups(rng, widths):
    """At least two channels a group: the norm of a single value divides by next to nothing, and the reference itself differs
    from run to run by more than any tolerance."""
    return rng.choice([n for n in (1, 2, 4, 8) if all(width % n == 0 and width >= 2 * n for width in widths)])


def _blocks(rng):
    """network_args by block; None leaves a case's own setting out."""
    def weights(count):
        curve = rng.choice(['cosine', 'sine', 'linear', 'reverse_linear', 'zeros+.5', 'linear+0.1', None])
        most = ','.join(rng.choice(['', '0', '0.3', '1', '2']) for _ in range(rng.randint(2, count)))
        return rng.choice([curve, most])

    def values(choices):
        return rng.choice([None, ','.join(str(rng.choice(choices)) for _ in range(25))])

    dims = values([0, 1, 2, 5])
    network = {'down_lr_weight': weights(12), 'mid_lr_weight': rng.choice([None, '0.5', '0']), 'up_lr_weight': weights(12),
               'block_lr_zero_threshold': rng.choice([None, 0.2]), 'block_dims': dims, 'block_alphas': values([0.5, 1, 4]),
               'conv_dim': rng.choice([None, 3]), 'conv_block_dims': values([0, 1, 4]),
               'loraplus_unet_lr_ratio': rng.choice([None, 3]), 'loraplus_text_encoder_lr_ratio': rng.choice([None, 0, 2])}
    network['conv_block_alphas'] = values([1, 2.5]) if network['conv_block_dims'] else None
    if not (dims or network['down_lr_weight'] or network['up_lr_weight'] or network['mid_lr_weight']):
        network['mid_lr_weight'] = '0.5'
    return network


def drawn(seed):
    """A random set: other depths, widths, heads, groups, sizes, ranks and options at every seed."""
    rng = random.Random(f'shapes {seed}')
    channels = rng.choice([8, 12, 16, 20, 24])
    mult = [1] + [rng.choice([1, 2, 3]) for _ in range(rng.choice([1, 2, 3, 4]))]
    widths = [channels * m for m in mult]
    levels = sorted(rng.sample(range(len(mult)), rng.randint(1, len(mult))))
    is_per_level = rng.random() < 0.5
    text_width = rng.choice([8, 12, 20, 32])
    vae_ch = rng.choice([4, 8, 12])
    vae_mult = [1] + [rng.choice([1, 2]) for _ in range(rng.choice([1, 2, 3, 4]))]
    common = [n for n in (1, 2, 4) if all(width % n == 0 for width in widths)]

    def sample():
        return [rng.choice([1, 2, 3]), rng.randint(5, 20), rng.randint(5, 20)]

    def network():
        dim = rng.choice([1, 2, 4, 7, 40])
        return {'dim': dim, 'alpha': rng.choice([1, dim, dim / 2, 0.3, 2 * dim])}

    factor = 2 ** (len(vae_mult) - 1)
    shapes = {
        'sd15': {
            'unet': {'model_channels': channels, 'channel_mult': mult, 'num_res_blocks': rng.choice([1, 2, 3]),
                     'attention_at_levels': levels, 'transformer_depth': rng.choice([1, 1, 2]), 'context_dim': text_width,
                     'group_norm_groups': _groups(rng, widths), 'num_heads': None if is_per_level else rng.choice(common),
                     'head_counts_per_level': [_heads(rng, width) for width in widths] if is_per_level else None},
            'text_encoder': {'vocab_size': rng.choice([200, 777, 1024]), 'hidden_size': text_width,
                             'layers': rng.choice([1, 2, 4]), 'num_heads': _heads(rng, text_width),
                             'intermediate_size': text_width * rng.choice([2, 4]),
                             'hidden_act': rng.choice(['quick_gelu', 'quick_gelu', 'gelu'])},
            'vae': {'ch': vae_ch, 'ch_mult': vae_mult, 'num_res_blocks': rng.choice([1, 2]),
                    'group_norm_groups': _groups(rng, [vae_ch])},
            'weights_dtype': rng.choice(['float32', 'float16']), 'has_extra_keys': rng.random() < 0.5,
            'sample': sample(), 'odd_sample': sample(), 'odd_context': rng.choice([77, 152, 227, 5]),
            'image': [rng.choice([1, 2]), factor * rng.randint(2, 5) + rng.choice([0, 1]), factor * rng.randint(2, 5)],
        },
        'adapters': {
            'sd15_lora': network(), 'sd15_lora_conv': {**network(), 'conv_dim': rng.choice([1, 3, 30]),
                                                       'conv_alpha': rng.choice([1, 2.5])},
            'sd15_lora_plain': {**network(), 'is_alpha_left_out': True, 'dtype': rng.choice(['float16', 'float32'])},
        },
        'training': {},
        'schedule': {'sample': [rng.randint(1, 5), rng.choice([3, 4, 16]), rng.randint(2, 9), rng.randint(2, 9)],
                     'gammas': rng.sample([0.5, 1, 2.5, 5, 10, 20], 3), 'steps': rng.sample(range(2, 61), 2),
                     'pyramid': [rng.choice([1, 2]), 4, rng.randint(6, 50), rng.randint(6, 50)]},
        'data': {'bucket_settings': 12, 'picture_side': rng.randint(20, 140)},
    }
    for name in DEFAULT['training']:
        case = shapes['training'][name] = {'network': merged(DEFAULT['training'][name]['network'], network()),
                                           'sample': sample(), 'steps': rng.choice([3, 5]), 'lr': rng.choice([1e-3, 3e-4])}
        batch = case['sample'][0]
        if name == 'sd15_lora_conv_snr':
            case['network'].update(conv_dim=rng.choice([1, 3, 20]), conv_alpha=rng.choice([1, 0.5, 8]))
            most = shapes['sd15']['text_encoder']['layers'] + 1
            case['args'] = {'min_snr_gamma': rng.choice([1.0, 5.0, 20.0]), 'noise_offset': rng.choice([0.03, 0.1]),
                            'clip_skip': rng.randint(1, min(3, most)), 'adaptive_noise_scale': rng.choice([None, 0.02, -0.3])}
            case['train_te'] = rng.random() < 0.5
            case['opt'] = {'weight_decay': rng.choice([0.01, 0.2]), 'betas': rng.choice([[0.9, 0.999], [0.8, 0.95]])}
        if name == 'sd15_lora':
            case['accum'] = rng.choice([1, 2])
            case['max_grad_norm'] = rng.choice([1.0, 0.1, 0.0])
            case['train_te'], case['train_unet'] = rng.choice([(True, True), (True, True), (False, True), (True, False)])
            case['token_rows'] = rng.choice([1, 1, 2, 3])
        if name == 'sd15_lora_blocks':
            case['network'] = merged(case['network'], _blocks(rng))
            case['args'] = {'scale_weight_norms': rng.choice([None, 0.05, 0.5])}
            case['accum'] = rng.choice([1, 2])
        if name == 'sd15_lora_vpred_zsnr':
            case['args'] = rng.choice([
                {'v_parameterization': True, 'zero_terminal_snr': True, 'min_snr_gamma': 5.0},
                {'v_parameterization': True, 'zero_terminal_snr': rng.random() < 0.5, 'scale_v_pred_loss_like_noise_pred': True},
                {'v_parameterization': False, 'zero_terminal_snr': False, 'v_pred_like_loss': 0.3, 'min_snr_gamma': None},
                {'v_parameterization': True, 'zero_terminal_snr': False, 'debiased_estimation_loss': True}])
            case['args'] = {'min_snr_gamma': None, **case['args']}
            case['train_te'] = rng.random() < 0.5
        if name == 'sd15_lora_prior_masked':
            case['loss_weights'] = [rng.choice([1.0, 0.4, 0.75]) for _ in range(batch)]
        if name == 'sd15_lora_huber_debiased':
            case['args'] = {'loss_type': rng.choice(['huber', 'smooth_l1', 'l1']),
                            'huber_schedule': rng.choice(['snr', 'exponential', 'constant']),
                            'huber_c': rng.choice([0.1, 0.3]), 'huber_scale': rng.choice([1.0, 1.5])}
    result = merged(DEFAULT, shapes)
    own = random.Random(f'optim {seed}')
    steps = own.randint(8, 30)
    result['optim'] = {'is_drawn': True, 'steps': steps, 'kept': [1, steps], 'codes': own.randint(300, 2000), 'parameters': {
        'w2': [own.randint(1, 9), own.randint(1, 12)], 'w4': [own.randint(1, 5), own.randint(1, 4), 3, own.randint(1, 3)],
        'b1': [own.randint(1, 40)], 's0': [], 'big': [own.randint(50, 90), own.randint(83, 110)]}}
    if 13 + 3 * (len(mult) - 1) + shapes['sd15']['unet']['num_res_blocks'] > 24:
        del result['training']['sd15_lora_blocks']  # the reference counts past its 25 blocks on such a U-Net and ends
    families = merged(family_shapes.named('default'), family_shapes.drawn(seed))
    return merged(result, families)
