"""schedule/samplers: timesteps, noise levels and trajectories of diffusers' schedulers on a formula instead of a model."""
import json
from unittest import mock

import torch

from reference import write_tensors

BETAS = {'num_train_timesteps': 1000, 'beta_start': 0.00085, 'beta_end': 0.012, 'beta_schedule': 'scaled_linear'}
DENOISER = {'a': 0.3, 'b': 0.1, 'c': 0.05}
# Name of the case: scheduler class and its arguments; none for those that sd-scripts' own function builds.
CASES = {
    'ddim': ('DDIMScheduler', {'clip_sample': False, 'set_alpha_to_one': False, 'steps_offset': 1}),
    'ddim_trailing': ('DDIMScheduler', {'clip_sample': False, 'set_alpha_to_one': False, 'timestep_spacing': 'trailing'}),
    'ddim_sdscripts': None,
    'euler': ('EulerDiscreteScheduler', {'steps_offset': 1}),
    'euler_karras': ('EulerDiscreteScheduler', {'use_karras_sigmas': True}),
    'euler_trailing': ('EulerDiscreteScheduler', {'timestep_spacing': 'trailing'}),
    'euler_leading': ('EulerDiscreteScheduler', {'timestep_spacing': 'leading', 'steps_offset': 1}),
    'euler_sdscripts': None,
    'euler_a_sdscripts': None,
    'euler_a_trailing': ('EulerAncestralDiscreteScheduler', {'timestep_spacing': 'trailing'}),
    'dpmsolver++_sdscripts': None,
    'dpmpp_2m': ('DPMSolverMultistepScheduler', {}),
    'dpmpp_2m_karras': ('DPMSolverMultistepScheduler', {'use_karras_sigmas': True}),
    'dpmpp_2m_trailing': ('DPMSolverMultistepScheduler', {'timestep_spacing': 'trailing'}),
}


def scheduler_of(name, prediction):
    import diffusers
    from library import train_util
    if CASES[name] is None:
        return train_util.get_my_scheduler(sample_sampler=name.removesuffix('_sdscripts'),
                                           v_parameterization=prediction == 'v_prediction')
    kind, arguments = CASES[name]
    return getattr(diffusers, kind)(**BETAS, prediction_type=prediction, **arguments)


def denoise(x, timestep):
    return DENOISER['a'] * x + DENOISER['b'] * torch.sin(torch.as_tensor(timestep, dtype=torch.float64) / 100).float() + \
        DENOISER['c'] * torch.cos(3 * x)


def run(scheduler, steps, unit_noise, generator):
    """The states before and after every step, the noise drawn, and how much of it after each step."""
    scheduler.set_timesteps(steps)
    drawn, counts = [], []

    def draw(shape, **kwargs):
        drawn.append(torch.randn(tuple(shape), generator=generator))
        return drawn[-1]

    x = unit_noise * scheduler.init_noise_sigma
    trajectory = [x]
    with mock.patch('diffusers.schedulers.scheduling_euler_ancestral_discrete.randn_tensor', draw):
        for timestep in scheduler.timesteps:
            prediction = denoise(scheduler.scale_model_input(x, timestep), timestep)
            x = scheduler.step(prediction, timestep, x).prev_sample
            trajectory.append(x)
            counts.append(len(drawn))
    return torch.stack(trajectory), drawn, counts


def write(folder, shape, seed):
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(seed)
    io = {'initial_unit_noise': torch.randn(shape['sampler_sample'], generator=generator)}
    cases = {}
    for name in CASES:
        for prediction in ('epsilon', 'v_prediction'):
            for steps in shape['steps'][:1] if prediction == 'v_prediction' else shape['steps']:
                scheduler = scheduler_of(name, prediction)
                trajectory, drawn, counts = run(scheduler, steps, io['initial_unit_noise'], generator)
                key = f'{name}.{prediction}.{steps}'
                config = {k: v for k, v in scheduler.config.items() if not k.startswith('_') and k != 'trained_betas'}
                cases[key] = {'init_noise_sigma': float(scheduler.init_noise_sigma), 'config': config}
                io[key + '.timesteps'], io[key + '.trajectory'] = scheduler.timesteps.float(), trajectory
                if hasattr(scheduler, 'sigmas'):
                    io[key + '.sigmas'] = scheduler.sigmas.float()
                if drawn:
                    io[key + '.noise'], cases[key]['noise_drawn_after_step'] = torch.stack(drawn), counts
    cases['denoiser'] = {'formula': "out = a*x_in + b*sin(t/100) + c*cos(3*x_in); x_in is the scaled model input", **DENOISER}
    lines = ',\n'.join(f'{json.dumps(key)}: {json.dumps(value)}' for key, value in cases.items())
    (folder / 'samplers.json').write_text('{\n' + lines + '\n}\n')
    write_tensors(folder / 'samplers.safetensors', io)
