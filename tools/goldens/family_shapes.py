"""The settings of the Stable Diffusion 2 and SDXL parts of a set of goldens; shapes.py joins them with the rest."""
import copy
import random

LORA = {'args': {}, 'network': {'dim': 4, 'alpha': 2}, 'train_te': True, 'train_unet': True, 'lr': 1e-3, 'steps': 6}

DEFAULT = {
    'sd2': {
        'unet': {'model_channels': 16, 'channel_mult': [1, 2, 2, 2], 'num_res_blocks': 2, 'attention_at_levels': [0, 1, 2],
                 'transformer_depth': 1, 'context_dim': 32, 'group_norm_groups': 4, 'num_heads': None,
                 'head_counts_per_level': [2, 4, 4, 4]},
        'text_encoder': {'vocab_size': 1024, 'hidden_size': 32, 'layers': 4, 'num_heads': 2, 'intermediate_size': 64,
                         'hidden_act': 'gelu', 'max_position': 77},
        'vae': {'ch': 16, 'ch_mult': [1, 1, 2], 'num_res_blocks': 2, 'z_channels': 4, 'group_norm_groups': 4},
        'weights_dtype': 'float16', 'prediction_type': 'v',
        'sample': [2, 16, 24], 'context': 77, 'odd_sample': [2, 18, 13], 'odd_context': 77, 'image': [1, 48, 64],
    },
    'sdxl': {
        'unet': {'model_channels': 16, 'channel_mult': [1, 2, 3], 'num_res_blocks': 2, 'transformer_depth_per_level': [0, 1, 2],
                 'middle_depth': 2, 'head_dim': 8, 'group_norm_groups': 4},
        'text_encoder_1': {'vocab_size': 1024, 'hidden_size': 32, 'layers': 12, 'num_heads': 2, 'intermediate_size': 64,
                           'hidden_act': 'quick_gelu', 'max_position': 77},
        'text_encoder_2': {'vocab_size': 1024, 'hidden_size': 48, 'layers': 3, 'num_heads': 4, 'intermediate_size': 96,
                           'max_position': 77},
        'vae': {'ch': 16, 'ch_mult': [1, 1, 2], 'num_res_blocks': 2, 'z_channels': 4, 'group_norm_groups': 4},
        'weights_dtype': 'float16', 'has_extra_keys': True,
        'sample': [2, 12, 16], 'other_sample': [2, 16, 8], 'other_context': 77, 'image': [1, 40, 64],
    },
    'adapters': {
        'sd2_lora': {'dim': 4, 'alpha': 2.0},
        'sdxl_lora': {'dim': 4, 'alpha': 2.0},
        'sdxl_lora_conv': {'dim': 4, 'alpha': 2.0, 'conv_dim': 2, 'conv_alpha': 1.0},
    },
    'training': {
        'sd2_lora_vpred': {**LORA, 'args': {'v_parameterization': True, 'min_snr_gamma': 5.0}, 'sample': [2, 16, 24]},
        'sdxl_lora': {**LORA, 'sample': [2, 12, 16], 'keep_grad': True},
        'sdxl_lora_unet_conv': {**LORA, 'args': {'min_snr_gamma': 5.0}, 'sample': [2, 12, 16], 'train_te': False,
                                'network': {'dim': 2, 'alpha': 1, 'conv_dim': 2, 'conv_alpha': 1}},
    },
}

SMALL = {
    'sd2': {
        'unet': {'model_channels': 8, 'channel_mult': [1, 2], 'num_res_blocks': 1, 'attention_at_levels': [1],
                 'context_dim': 12, 'group_norm_groups': 2, 'head_counts_per_level': [1, 2]},
        'text_encoder': {'vocab_size': 160, 'hidden_size': 12, 'layers': 2, 'num_heads': 3, 'intermediate_size': 24},
        'vae': {'ch': 4, 'ch_mult': [1, 2], 'num_res_blocks': 1, 'group_norm_groups': 2},
        'sample': [2, 8, 6], 'odd_sample': [1, 9, 7], 'odd_context': 152, 'image': [1, 12, 18],
    },
    'sdxl': {
        'unet': {'model_channels': 8, 'channel_mult': [1, 2], 'num_res_blocks': 1, 'transformer_depth_per_level': [0, 2],
                 'middle_depth': 1, 'head_dim': 4, 'group_norm_groups': 2},
        'text_encoder_1': {'vocab_size': 160, 'hidden_size': 4, 'num_heads': 1, 'intermediate_size': 8},
        'text_encoder_2': {'vocab_size': 160, 'hidden_size': 8, 'layers': 2, 'num_heads': 2, 'intermediate_size': 16},
        'vae': {'ch': 4, 'ch_mult': [1, 2], 'num_res_blocks': 1, 'group_norm_groups': 2},
        'sample': [2, 8, 6], 'other_sample': [2, 4, 8], 'other_context': 152, 'image': [1, 12, 16],
    },
    'adapters': {'sd2_lora': {'dim': 2, 'alpha': 3}, 'sdxl_lora': {'dim': 2}, 'sdxl_lora_conv': {'dim': 3, 'alpha': 1.5}},
    'training': {'sd2_lora_vpred': {'steps': 3, 'sample': [2, 8, 6]}, 'sdxl_lora': {'steps': 3, 'sample': [2, 8, 6], 'keep_grad': False},
                 'sdxl_lora_unet_conv': {'steps': 2, 'sample': [1, 8, 6]}},
}


def named(name):
    return copy.deepcopy({'default': DEFAULT, 'small': SMALL}[name])


def _heads(rng, width):
    return rng.choice([n for n in (1, 2, 3, 4, 5, 8) if width % n == 0])


def _groups(rng, widths):
    """At least two channels a group: the norm of a single value divides by next to nothing, and the reference itself differs
    from run to run by more than any tolerance."""
    return rng.choice([n for n in (1, 2, 4) if all(width % n == 0 and width >= 2 * n for width in widths)])


def _vae(rng):
    channels = rng.choice([4, 8, 12])
    return {'ch': channels, 'ch_mult': [1] + [rng.choice([1, 2]) for _ in range(rng.choice([1, 2, 3]))],
            'num_res_blocks': rng.choice([1, 2]), 'group_norm_groups': _groups(rng, [channels])}


def _text(rng, width, layers):
    return {'vocab_size': rng.choice([200, 777, 1024]), 'hidden_size': width, 'layers': layers, 'num_heads': _heads(rng, width),
            'intermediate_size': width * rng.choice([2, 4])}


def _image(rng, vae):
    factor = 2 ** (len(vae['ch_mult']) - 1)
    return [rng.choice([1, 2]), factor * rng.randint(2, 5), factor * rng.randint(2, 5)]


def _network(rng):
    dim = rng.choice([1, 2, 4, 7, 40])
    return {'dim': dim, 'alpha': rng.choice([1, dim, dim / 2, 0.3, 2 * dim])}


def drawn(seed):
    """Random sizes and options of both families; independent of what the other parts draw."""
    rng = random.Random(f'families {seed}')
    channels = rng.choice([8, 12, 16, 24])
    mult = [1] + [rng.choice([1, 2, 3]) for _ in range(rng.choice([1, 2, 3]))]
    widths = [channels * m for m in mult]
    width, vae = rng.choice([8, 12, 20, 32]), _vae(rng)

    def odd():
        return [rng.choice([1, 2, 3]), rng.randint(5, 20), rng.randint(5, 20)]

    sd2 = {
        'unet': {'model_channels': channels, 'channel_mult': mult, 'num_res_blocks': rng.choice([1, 2]),
                 'attention_at_levels': sorted(rng.sample(range(len(mult)), rng.randint(1, len(mult)))),
                 'transformer_depth': rng.choice([1, 2]), 'context_dim': width, 'group_norm_groups': _groups(rng, widths),
                 'head_counts_per_level': [_heads(rng, one) for one in widths]},
        'text_encoder': _text(rng, width, rng.choice([1, 2, 5])), 'vae': vae,
        'weights_dtype': rng.choice(['float32', 'float16']), 'prediction_type': rng.choice(['v', 'epsilon']),
        'sample': odd(), 'odd_sample': odd(), 'odd_context': rng.choice([77, 152, 227]), 'image': _image(rng, vae)}

    head = rng.choice([4, 8])
    mult = [1] + [rng.choice([1, 2, 3]) for _ in range(rng.choice([1, 2]))]
    channels = head * rng.choice([1, 2, 3])
    vae, factor, batch = _vae(rng), 2 ** (len(mult) - 1), rng.choice([1, 2, 3])

    # The reference doubles sides on the way up, so that they must divide.
    def even():
        return [batch, factor * rng.randint(2, 16 // factor + 1), factor * rng.randint(2, 16 // factor + 1)]

    sdxl = {
        'unet': {'model_channels': channels, 'channel_mult': mult, 'num_res_blocks': rng.choice([1, 2]),
                 'transformer_depth_per_level': [0] + [rng.choice([1, 2]) for _ in mult[1:]], 'middle_depth': rng.choice([1, 2]),
                 'head_dim': head, 'group_norm_groups': _groups(rng, [channels])},
        'text_encoder_1': _text(rng, rng.choice([8, 12]), rng.choice([12, 13])),
        'text_encoder_2': _text(rng, rng.choice([8, 20]), rng.choice([2, 3, 5])), 'vae': vae,
        'weights_dtype': rng.choice(['float32', 'float16']), 'has_extra_keys': rng.random() < 0.5,
        'sample': even(), 'other_sample': even(), 'other_context': rng.choice([77, 152, 227]), 'image': _image(rng, vae)}

    training = {}
    for name in DEFAULT['training']:
        case = training[name] = {'network': _network(rng), 'steps': rng.choice([3, 4]), 'lr': rng.choice([1e-3, 3e-4]),
                                 'sample': odd() if name.startswith('sd2') else even(), 'token_rows': rng.choice([1, 1, 2, 3])}
        if name == 'sd2_lora_vpred':
            case['args'] = {'v_parameterization': rng.random() < 0.7, 'min_snr_gamma': rng.choice([None, 5.0])}
            case['train_te'] = rng.random() < 0.7
        if name == 'sdxl_lora_unet_conv':
            case['network'].update(conv_dim=rng.choice([1, 3, 20]), conv_alpha=rng.choice([1, 0.5]))
        if name == 'sdxl_lora':
            case['accum'] = rng.choice([1, 2])
            case['train_unet'] = rng.random() < 0.8
    networks = {'sd2_lora': _network(rng), 'sdxl_lora': _network(rng),
                'sdxl_lora_conv': {**_network(rng), 'conv_dim': rng.choice([1, 3, 30]), 'conv_alpha': rng.choice([1, 2.5])}}
    return {'sd2': sd2, 'sdxl': sdxl, 'adapters': networks, 'training': training}
