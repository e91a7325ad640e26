"""schedule/diffusion: noise tables, loss weights, losses and noise settings of sd-scripts."""
import random
from argparse import Namespace
from unittest import mock

import torch

from reference import write_json, write_tensors

HUBER = [('exponential', 0.1, 1.0), ('snr', 0.1, 1.0), ('constant', 0.1, 1.0), ('constant', 0.5, 2.0), ('exponential', 0.3, 1.5)]
NOISE_OFFSETS = [(0.1, None), (0.05, 0.02), (0.0357, -0.3)]
PYRAMIDS = [(6, 0.4), (3, 0.8), (10, 0.3)]


def scheduler_of(is_zero_terminal):
    from train_network import NetworkTrainer
    return NetworkTrainer().get_noise_scheduler(Namespace(zero_terminal_snr=is_zero_terminal), torch.device('cpu'))


def tables(io):
    plain, zero = scheduler_of(False), scheduler_of(True)
    arguments = io['latents'], io['noise'], io['timesteps']
    for prefix, one in (('', plain), ('zero_terminal.', zero)):
        io[prefix + 'betas'], io[prefix + 'alphas_cumprod'] = one.betas, one.alphas_cumprod
        io[prefix + 'noisy'], io[prefix + 'velocity'] = one.add_noise(*arguments), one.get_velocity(*arguments)
    io['all_snr'], io['zero_terminal.all_snr_as_sdscripts'] = plain.all_snr, zero.all_snr
    return plain


def weights(io, scheduler, gammas):
    """Factors: what a loss of 1 becomes at each of the 1000 timesteps."""
    from library import custom_train_functions as functions
    ones, all_steps = torch.ones(1000), torch.arange(1000)
    for gamma in gammas:
        for name, is_velocity in (('eps', False), ('v', True)):
            io[f'min_snr.{name}.gamma{gamma}'] = functions.apply_snr_weight(ones, all_steps, scheduler, gamma, is_velocity)
    io['scale_v_pred'] = functions.scale_v_prediction_loss_like_noise_prediction(ones, all_steps, scheduler)
    io['v_pred_like_0.3'] = functions.add_v_prediction_like_loss(ones, all_steps, scheduler, 0.3)
    io['debiased.eps'] = functions.apply_debiased_estimation(ones, all_steps, scheduler, False)
    io['debiased.v'] = functions.apply_debiased_estimation(ones, all_steps, scheduler, True)


def losses(io, settings, scheduler, generator):
    from library import custom_train_functions as functions
    from library import train_util
    shape = io['latents'].shape
    io['loss.pred'] = torch.randn(shape, generator=generator)
    io['loss.target'] = torch.randn(shape, generator=generator)
    pair = io['loss.pred'], io['loss.target']
    for kind in ('l1', 'l2'):
        io[f'loss.{kind}'] = train_util.conditional_loss(*pair, kind, 'none')
        io[f'loss.{kind}.mean'] = train_util.conditional_loss(*pair, kind, 'mean').reshape(1) if kind == 'l2' else io['loss.l1'].mean()[None]
    settings['losses'] = {}
    for number, (schedule, huber_c, scale) in enumerate(HUBER):
        settings['losses'][str(number)] = {'schedule': schedule, 'huber_c': huber_c, 'huber_scale': scale}
        args = Namespace(loss_type='huber', huber_schedule=schedule, huber_c=huber_c, huber_scale=scale)
        prefix = f'huber.{number}.'
        threshold = io[prefix + 'threshold'] = train_util.get_huber_threshold_if_needed(args, io['timesteps'], scheduler)
        io[prefix + 'threshold_all_timesteps'] = train_util.get_huber_threshold_if_needed(args, torch.arange(1000), scheduler)
        for kind in ('huber', 'smooth_l1'):
            io[prefix + kind] = train_util.conditional_loss(*pair, kind, 'none', threshold)
            io[f'{prefix}{kind}.mean'] = train_util.conditional_loss(*pair, kind, 'mean', threshold).reshape(1)
    batch, _, height, width = shape
    io['mask.image'] = torch.rand(batch, 8 * height, 8 * width, generator=generator)
    io['mask.conditioning_image'] = torch.rand(batch, 3, 8 * height, 8 * width, generator=generator) * 2 - 1
    io['mask.loss'] = functions.apply_masked_loss(io['loss.l2'], {'alpha_masks': io['mask.image']})
    io['mask.loss_conditioning'] = functions.apply_masked_loss(io['loss.l2'], {'conditioning_images': io['mask.conditioning_image']})


def noises(io, settings, scheduler, shape, seed, generator):
    from library import custom_train_functions as functions
    batch, channels = io['latents'].shape[:2]
    io['noise_offset.random'] = torch.randn(batch, channels, 1, 1, generator=generator)
    for number, (offset, adaptive) in enumerate(NOISE_OFFSETS):
        settings[f'noise_offset.{number}'] = {'noise_offset': offset, 'adaptive_noise_scale': adaptive}
        with mock.patch.object(torch, 'randn', lambda *args, **kwargs: io['noise_offset.random']):
            io[f'noise_offset.{number}.out'] = functions.apply_noise_offset(io['latents'], io['noise'], offset, adaptive)
    io['ip_noise.extra'] = torch.randn(io['latents'].shape, generator=generator)
    for gamma in (0.1, 0.35):
        noise = io['noise'] + gamma * io['ip_noise.extra']
        io[f'ip_noise.gamma{gamma}'] = scheduler.add_noise(io['latents'], noise, io['timesteps'])
    base = io['pyramid.noise'] = torch.randn(shape['pyramid'], generator=generator)
    rng = random.Random(seed)
    for number, (iterations, discount) in enumerate(PYRAMIDS):
        uniforms = [rng.random() for _ in range(iterations)]
        drawn = []

        def recorded(*sizes, **kwargs):
            drawn.append(torch.empty(*sizes).normal_(generator=generator))
            return drawn[-1]

        with mock.patch.object(functions.random, 'random', mock.Mock(side_effect=uniforms)), \
                mock.patch.object(torch, 'randn', recorded):
            io[f'pyramid.{number}.out'] = functions.pyramid_noise_like(base.clone(), 'cpu', iterations, discount)
        io.update({f'pyramid.{number}.random.{level}': value for level, value in enumerate(drawn)})
        settings[f'pyramid.{number}'] = {'iterations': iterations, 'discount': discount, 'uniforms': uniforms,
                                         'levels_used': len(drawn)}


def write(folder, shape, seed):
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(seed)
    size = shape['sample']
    io = {'latents': torch.randn(size, generator=generator), 'noise': torch.randn(size, generator=generator),
          'timesteps': torch.randint(0, 1000, (size[0],), generator=generator)}
    settings = {}
    scheduler = tables(io)
    weights(io, scheduler, shape['gammas'])
    losses(io, settings, scheduler, generator)
    noises(io, settings, scheduler, shape, seed, generator)
    write_tensors(folder / 'diffusion.safetensors', io)
    write_json(folder / 'diffusion.json', settings)
