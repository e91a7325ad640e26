"""schedule/samplers: timesteps, noise levels and trajectories of diffusers' schedulers on a formula instead of a model."""
import json
import sys
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
    'dpmpp_2m_heun': ('DPMSolverMultistepScheduler', {'solver_type': 'heun'}),
    'dpmpp_2m_sde_karras': ('DPMSolverMultistepScheduler', {'algorithm_type': 'sde-dpmsolver++', 'use_karras_sigmas': True}),
    'dpmpp_3m': ('DPMSolverMultistepScheduler', {'solver_order': 3}),
    'dpmpp_3m_karras': ('DPMSolverMultistepScheduler', {'solver_order': 3, 'use_karras_sigmas': True}),
    # sd-scripts' own dpmsolver ends at 0 and is refused by current diffusers.
    'dpmsolver_sigma_min': ('DPMSolverMultistepScheduler', {'algorithm_type': 'dpmsolver', 'final_sigmas_type': 'sigma_min'}),
    'dpmsolver_order3': ('DPMSolverMultistepScheduler', {'algorithm_type': 'dpmsolver', 'final_sigmas_type': 'sigma_min',
                                                         'solver_order': 3}),
    'dpmsingle_sdscripts': None,
    'dpmsingle_karras': ('DPMSolverSinglestepScheduler', {'use_karras_sigmas': True}),
    'heun_sdscripts': None,
    'heun': ('HeunDiscreteScheduler', {}),
    'heun_karras': ('HeunDiscreteScheduler', {'use_karras_sigmas': True}),
    'dpm_2_sdscripts': None,
    'dpm_2_karras': ('KDPM2DiscreteScheduler', {'use_karras_sigmas': True}),
    'dpm_2_leading': ('KDPM2DiscreteScheduler', {'timestep_spacing': 'leading', 'steps_offset': 1}),
    'dpm_2_a_sdscripts': None,
    'dpm_2_a_karras': ('KDPM2AncestralDiscreteScheduler', {'use_karras_sigmas': True}),
    'lms_sdscripts': None,
    'lms_karras': ('LMSDiscreteScheduler', {'use_karras_sigmas': True}),
    'pndm_sdscripts': None,
    'pndm': ('PNDMScheduler', {'skip_prk_steps': True, 'steps_offset': 1}),
    'ddpm_sdscripts': None,
    'ddpm_trailing': ('DDPMScheduler', {'clip_sample': False, 'timestep_spacing': 'trailing'}),
    'unipc': ('UniPCMultistepScheduler', {}),
    'unipc_bh1': ('UniPCMultistepScheduler', {'solver_type': 'bh1'}),
    'unipc_order3': ('UniPCMultistepScheduler', {'solver_order': 3}),
    'unipc_karras': ('UniPCMultistepScheduler', {'use_karras_sigmas': True}),
    'deis': ('DEISMultistepScheduler', {}),
    'deis_order3': ('DEISMultistepScheduler', {'solver_order': 3}),
    'lcm': ('LCMScheduler', {}),
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
    with mock.patch.object(sys.modules[type(scheduler).__module__], 'randn_tensor', draw, create=True):
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
    cases, skipped = {}, []
    for name in CASES:
        for prediction in ('epsilon', 'v_prediction'):
            for steps in shape['steps'][:1] if prediction == 'v_prediction' else shape['steps']:
                key = f'{name}.{prediction}.{steps}'
                if name == 'pndm_sdscripts' and steps < 4:
                    skipped.append(f'{key}: the Runge-Kutta start needs four steps')
                    continue
                scheduler = scheduler_of(name, prediction)
                try:
                    trajectory, drawn, counts = run(scheduler, steps, io['initial_unit_noise'], generator)
                except ValueError as error:  # lcm has 50 timesteps
                    skipped.append(f'{key}: {error}')
                    continue
                config = {k: v for k, v in scheduler.config.items() if not k.startswith('_') and k != 'trained_betas'}
                cases[key] = {'init_noise_sigma': float(scheduler.init_noise_sigma), 'config': config}
                io[key + '.timesteps'], io[key + '.trajectory'] = scheduler.timesteps.float(), trajectory
                if hasattr(scheduler, 'sigmas'):
                    io[key + '.sigmas'] = scheduler.sigmas.float()
                if drawn:
                    io[key + '.noise'], cases[key]['noise_drawn_after_step'] = torch.stack(drawn), counts
    cases['skipped'] = skipped
    cases['denoiser'] = {'formula': "out = a*x_in + b*sin(t/100) + c*cos(3*x_in); x_in is the scaled model input", **DENOISER}
    lines = ',\n'.join(f'{json.dumps(key)}: {json.dumps(value)}' for key, value in cases.items())
    (folder / 'samplers.json').write_text('{\n' + lines + '\n}\n')
    write_tensors(folder / 'samplers.safetensors', io)
