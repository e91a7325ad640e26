"""optim: trajectories of optimizers on recorded gradients, block-wise 8-bit codes, learning rates of schedules.

Needs besides torch and transformers: lion-pytorch, prodigyopt, dadaptation, schedulefree, came-pytorch,
bitsandbytes."""
import contextlib
import importlib
import io
import json
import random
from argparse import Namespace

import torch

from reference import write_json, write_tensors

ADAMW, SGD = 'torch.optim.adamw.AdamW', 'torch.optim.sgd.SGD'
ADAFACTOR, PRODIGY = 'transformers.optimization.Adafactor', 'prodigyopt.prodigy.Prodigy'
LION, FREE = 'lion_pytorch.lion_pytorch.Lion', 'schedulefree.'
OWN_RATE = {'lr': None, 'relative_step': True, 'scale_parameter': True}
GIVEN_RATE = {'lr': 1e-3, 'relative_step': False, 'warmup_init': False}

CASES = {
    'adamw': (ADAMW, {'lr': 0.01}),
    'adamw_wd_betas': (ADAMW, {'lr': 0.01, 'weight_decay': 0.1, 'betas': [0.8, 0.95], 'eps': 1e-6}),
    'adam': ('torch.optim.adam.Adam', {'lr': 0.01}),
    'sgd_nesterov': (SGD, {'lr': 0.01, 'momentum': 0.9, 'nesterov': True}),
    'sgd_nesterov_wd': (SGD, {'lr': 0.01, 'momentum': 0.9, 'nesterov': True, 'weight_decay': 0.01}),
    'sgd_dampened': (SGD, {'lr': 0.01, 'momentum': 0.8, 'dampening': 0.3}),
    'lion': (LION, {'lr': 1e-3, 'weight_decay': 0.0}),
    'lion_wd': (LION, {'lr': 1e-3, 'weight_decay': 0.1, 'betas': [0.95, 0.98]}),
    'lion_decoupled': (LION, {'lr': 1e-3, 'weight_decay': 0.01, 'decoupled_weight_decay': True}),
    'adafactor_relative': (ADAFACTOR, {**OWN_RATE, 'warmup_init': False}),
    'adafactor_relative_warmup': (ADAFACTOR, {**OWN_RATE, 'warmup_init': True}),
    'adafactor_fixed': (ADAFACTOR, {**GIVEN_RATE, 'scale_parameter': False}),
    'adafactor_fixed_beta1_wd': (ADAFACTOR, {**GIVEN_RATE, 'scale_parameter': True, 'beta1': 0.9, 'weight_decay': 0.01,
                                             'clip_threshold': 0.8}),
    'dadapt_adam': ('dadaptation.dadapt_adam.DAdaptAdam', {'lr': 1.0}),
    'dadapt_adam_corrected': ('dadaptation.dadapt_adam.DAdaptAdam', {'lr': 1.0, 'decouple': True, 'weight_decay': 0.02,
                                                                      'use_bias_correction': True}),
    'dadapt_adagrad': ('dadaptation.dadapt_adagrad.DAdaptAdaGrad', {'lr': 1.0, 'd0': 1e-4}),
    'dadapt_lion': ('dadaptation.dadapt_lion.DAdaptLion', {'lr': 1.0, 'weight_decay': 0.01}),
    'dadapt_sgd': ('dadaptation.dadapt_sgd.DAdaptSGD', {'lr': 1.0, 'momentum': 0.5}),
    'dadapt_adan': ('dadaptation.dadapt_adan.DAdaptAdan', {'lr': 1.0}),
    'dadapt_adan_ip': ('dadaptation.experimental.dadapt_adan_ip.DAdaptAdanIP', {'lr': 1.0, 'no_prox': True}),
    'dadapt_adam_preprint': ('dadaptation.experimental.dadapt_adam_preprint.DAdaptAdamPreprint', {'lr': 1.0}),
    'prodigy': (PRODIGY, {'lr': 1.0}),
    'prodigy_full': (PRODIGY, {'lr': 1.0, 'betas': [0.9, 0.99], 'weight_decay': 0.01, 'decouple': True,
                               'use_bias_correction': True, 'safeguard_warmup': True, 'd_coef': 2.0, 'd0': 1e-5}),
    'prodigy_sampled': (PRODIGY, {'lr': 1.0, 'slice_p': 3, 'growth_rate': 1.5, 'beta3': 0.9, 'weight_decay': 0.1,
                                  'decouple': False, 'betas': [0.0, 0.95]}),
    'adamw_schedulefree': (FREE + 'adamw_schedulefree.AdamWScheduleFree', {'lr': 0.01}),
    'adamw_schedulefree_warmup': (FREE + 'adamw_schedulefree.AdamWScheduleFree',
                                  {'lr': 0.01, 'warmup_steps': 5, 'weight_decay': 0.05, 'r': 0.5, 'weight_lr_power': 1.0}),
    'radam_schedulefree': (FREE + 'radam_schedulefree.RAdamScheduleFree', {'lr': 0.01}),
    'radam_schedulefree_loud': (FREE + 'radam_schedulefree.RAdamScheduleFree', {'lr': 0.01, 'silent_sgd_phase': False}),
    'sgd_schedulefree': (FREE + 'sgd_schedulefree.SGDScheduleFree', {'lr': 0.1, 'warmup_steps': 3}),
    'came': ('came_pytorch.CAME.CAME', {'lr': 1e-3}),
    'came_wd': ('came_pytorch.CAME.CAME', {'lr': 1e-3, 'weight_decay': 0.01, 'betas': [0.9, 0.99, 0.999]}),
    'adamw8bit': ('bitsandbytes', {'lr': 0.01}),
    'adamw8bit_default_min': ('bitsandbytes', {'lr': 0.01, 'weight_decay': 0.1}),
    'lion8bit': ('bitsandbytes', {'lr': 1e-3}),
    'sgd8bit': ('bitsandbytes', {'lr': 0.01, 'momentum': 0.9}),
}
BITSANDBYTES = {'adamw8bit': 'AdamW8bit', 'lion8bit': 'Lion8bit', 'sgd8bit': 'SGD8bit'}


def drawn_cases(rng):
    """The same cases with settings of their own; what is None or a switch stays."""
    cases = json.loads(json.dumps(CASES))
    for cls, settings in cases.values():
        for key, value in settings.items():
            if key == 'betas' and len(value) == 2:
                settings[key] = [round(rng.uniform(0.5, 0.95), 3), round(rng.uniform(0.9, 0.9995), 5)]
            elif key == 'lr' and value is not None and value < 1.0:
                settings[key] = round(value * rng.uniform(0.3, 3.0), 6)
            elif key in ('weight_decay', 'momentum', 'clip_threshold', 'd_coef', 'weight_lr_power', 'r'):
                settings[key] = round(value * rng.uniform(0.5, 1.05), 4)
        if cls == ADAMW:
            settings['amsgrad'] = rng.random() < 0.5
    return cases


def problem(sizes, generator):
    tensors = {}
    for name, size in sizes['parameters'].items():
        tensors['param0.' + name] = torch.randn(size, generator=generator) * 0.5
        tensors['grad.' + name] = torch.randn([sizes['steps'], *size], generator=generator) * 0.3 + 0.1
    return tensors


def run(optimizer_of, tensors, names, kept):
    """Parameters after each step; of large ones, after the steps `kept` (from 1)."""
    parameters = {name: torch.nn.Parameter(tensors['param0.' + name].clone()) for name in names}
    with contextlib.redirect_stdout(io.StringIO()):
        optimizer = optimizer_of(list(parameters.values()))
    if hasattr(optimizer, 'train'):
        optimizer.train()
    steps = len(tensors['grad.' + names[0]])
    rows, estimates = {name: [] for name in names}, []
    for step in range(steps):
        for name, parameter in parameters.items():
            parameter.grad = tensors['grad.' + name][step].clone()
        optimizer.step()
        for name, parameter in parameters.items():
            if parameter.numel() < 4096 or step + 1 in kept:
                rows[name].append(parameter.detach().clone())
        estimates.append(float(optimizer.param_groups[0].get('d', 0.0)))
    out = {name: torch.stack(row) for name, row in rows.items()}
    if hasattr(optimizer, 'eval'):
        optimizer.eval()
        out.update({'eval.' + name: parameter.detach().clone() for name, parameter in parameters.items()})
    return out, estimates


def class_of(path):
    module, name = path.rsplit('.', 1)
    return getattr(importlib.import_module(module), name)


def python_settings(settings):
    return {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}


def trajectories(folder, sizes, cases, tensors):
    names, kept = list(sizes['parameters']), sizes['kept']
    described, out = {}, {}
    for case, (cls, settings) in cases.items():
        options = python_settings(settings)
        if cls == 'bitsandbytes':
            import bitsandbytes
            cls = None
            made = getattr(bitsandbytes.optim, BITSANDBYTES[case.split('_')[0]])
            if not case.endswith('_default_min'):
                options['min_8bit_size'] = 0
            described[case] = {'library': 'bitsandbytes', 'kwargs': settings}
        else:
            made = class_of(cls)
            described[case] = {'cls': cls, 'kwargs': settings}
        rows, estimates = run(lambda parameters: made(parameters, **options), tensors, names, kept)
        if estimates[-1] > 0:
            described[case]['d_per_step'] = estimates
        out.update({f'{case}.{name}': value for name, value in rows.items()})
    described['big_steps_kept'] = kept
    write_json(folder / 'trajectories.json', described)
    write_tensors(folder / 'trajectories.safetensors', out)


def levels(is_signed):
    from bitsandbytes.functional import create_dynamic_map
    return create_dynamic_map(signed=is_signed)


def codes(values, level, block):
    """Nearest levels of each block's values divided by its largest."""
    flat = values.flatten()
    padded = torch.nn.functional.pad(flat, (0, -len(flat) % block)).view(-1, block)
    scale = padded.abs().amax(1)
    shares = padded / torch.where(scale > 0, scale, torch.ones_like(scale))[:, None]
    index = (shares.double()[..., None] - level.double()).abs().argmin(-1)
    return index, scale, (level[index] * scale[:, None]).flatten()[:len(flat)].view(values.shape)


class ExactAdamW8bit:
    """AdamW whose means are stored as nearest codes after each step."""

    def __init__(self, parameters, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.parameters, self.step_count = parameters, 0
        self.lr, self.betas, self.eps, self.decay = lr, betas, eps, weight_decay
        self.means = [torch.zeros_like(p) for p in parameters]
        self.squares = [torch.zeros_like(p) for p in parameters]
        self.param_groups = [{}]

    @torch.no_grad()
    def step(self):
        self.step_count += 1
        (b1, b2), t = self.betas, self.step_count
        for i, p in enumerate(self.parameters):
            mean = self.means[i] * b1 + p.grad * (1 - b1)
            square = self.squares[i] * b2 + p.grad * p.grad * (1 - b2)
            p.mul_(1 - self.lr * self.decay)
            p.sub_(self.lr / (1 - b1 ** t) * mean / ((square / (1 - b2 ** t)).sqrt() + self.eps))
            self.means[i] = codes(mean, levels(True), 256)[2]
            self.squares[i] = codes(square, levels(False), 256)[2]


def blockwise(folder, count, generator):
    x = torch.randn(count, generator=generator) * torch.logspace(-2, 1, count)
    out = {'x': x, 'code.signed': levels(True), 'code.unsigned': levels(False)}
    for kind, values, block in (('signed', x, 256), ('signed', x, 64), ('unsigned', x.abs(), 256)):
        index, scale, back = codes(values, out['code.' + kind], block)
        name = f'{kind}.block{block}.'
        out[name + 'index'], out[name + 'absmax'] = index.flatten()[:count].to(torch.uint8), scale
        out[name + 'dequant'] = back
    write_tensors(folder / 'blockwise_quant.safetensors', out)


def schedule_cases(rng, is_drawn):
    total = rng.randint(60, 140) if is_drawn else 100
    warmup = rng.randint(3, 20) if is_drawn else 10
    share = round(rng.uniform(0.05, 0.2), 3) if is_drawn else 0.15
    cycles = rng.randint(2, 4) if is_drawn else 3
    ratio = round(rng.uniform(0.01, 0.4), 3) if is_drawn else 0.1
    rows = [{'lr_scheduler': 'constant'}]
    for name in ('constant_with_warmup', 'linear', 'cosine', 'inverse_sqrt'):
        rows += [{'lr_scheduler': name, 'lr_warmup_steps': steps} for steps in (warmup, share, 0)]
    rows += [
        {'lr_scheduler': 'cosine_with_restarts', 'lr_warmup_steps': warmup, 'lr_scheduler_num_cycles': cycles},
        {'lr_scheduler': 'polynomial', 'lr_warmup_steps': warmup, 'lr_scheduler_power': 2.0},
        {'lr_scheduler': 'inverse_sqrt', 'lr_warmup_steps': warmup, 'lr_scheduler_timescale': 3 * warmup},
        {'lr_scheduler': 'cosine_with_min_lr', 'lr_warmup_steps': warmup, 'lr_scheduler_min_lr_ratio': ratio,
         'lr_scheduler_num_cycles': cycles},
        {'lr_scheduler': 'warmup_stable_decay', 'lr_warmup_steps': warmup, 'lr_decay_steps': 30,
         'lr_scheduler_min_lr_ratio': ratio},
        {'lr_scheduler': 'warmup_stable_decay', 'lr_warmup_steps': share, 'lr_decay_steps': 0.4,
         'lr_scheduler_num_cycles': cycles},
        {'lr_scheduler': 'piecewise_constant',
         'lr_scheduler_args': [f"step_rules='1:{warmup},0.1:{4 * warmup},0.005'"]},
    ]
    for name, arguments in (('CosineAnnealingLR', [f'T_max={2 * warmup}', 'eta_min=1e-6']),
                            ('CosineAnnealingWarmRestarts', [f'T_0={warmup}', 'T_mult=2', 'eta_min=1e-5']),
                            ('StepLR', [f'step_size={warmup}', 'gamma=0.5']),
                            ('MultiStepLR', [f'milestones=[{warmup},{3 * warmup}]', 'gamma=0.3']),
                            ('ExponentialLR', ['gamma=0.97']), ('ConstantLR', ['factor=0.25', f'total_iters={warmup}']),
                            ('LinearLR', ['start_factor=0.2', 'end_factor=0.9', f'total_iters={warmup}']),
                            ('PolynomialLR', [f'total_iters={total}', 'power=1.7']),
                            ('OneCycleLR', ['max_lr=0.01', f'total_steps={total}']),
                            ('OneCycleLR', ['max_lr=0.01', f'total_steps={total}', 'three_phase=True',
                                            "anneal_strategy='linear'", 'pct_start=0.4', 'div_factor=10.0'])):
        rows.append({'lr_scheduler_type': name, 'lr_scheduler_args': arguments})
    return total, rows


def schedules(folder, rng, is_drawn):
    from library import train_util
    total, rows = schedule_cases(rng, is_drawn)
    defaults = {'lr_scheduler': 'constant', 'lr_scheduler_type': '', 'lr_scheduler_args': None, 'lr_warmup_steps': 0,
                'lr_decay_steps': 0, 'lr_scheduler_num_cycles': 1, 'lr_scheduler_power': 1.0, 'lr_scheduler_timescale': None,
                'lr_scheduler_min_lr_ratio': None, 'max_train_steps': total, 'optimizer_type': 'AdamW'}
    out = []
    for row in rows:
        base = round(rng.uniform(1e-4, 1e-2), 6) if is_drawn else 1e-3
        optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(2))], lr=base)
        scheduler = train_util.get_scheduler_fix(Namespace(**{**defaults, **row}), optimizer, 1)
        rates = []
        for step in range(total):
            rates.append(optimizer.param_groups[0]['lr'])
            optimizer.step()
            if step + 1 < total:
                scheduler.step()
        out.append({'args': row, 'base_lr': base, 'max_train_steps': total, 'lr': rates})
    write_json(folder / 'lr_schedules.json', out)


def write(folder, sizes, seed):
    folder.mkdir(parents=True, exist_ok=True)
    generator, rng = torch.Generator().manual_seed(seed), random.Random(seed)
    cases = drawn_cases(rng) if sizes['is_drawn'] else json.loads(json.dumps(CASES))
    tensors = problem(sizes, generator)
    write_tensors(folder / 'problem.safetensors', tensors)
    trajectories(folder, sizes, cases, tensors)
    options = python_settings(cases['adamw8bit'][1])
    rows, _ = run(lambda parameters: ExactAdamW8bit(parameters, **options), tensors, list(sizes['parameters']),
                  sizes['kept'])
    write_tensors(folder / 'adamw8bit_emulated.safetensors', {f'emulated_adamw8bit.{n}': v for n, v in rows.items()})
    blockwise(folder, sizes['codes'], generator)
    schedules(folder, rng, sizes['is_drawn'])
