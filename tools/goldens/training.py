"""training/: whole training steps of LoRA by sd-scripts' own trainer class, with given noise and timesteps.

The loss of a step is NetworkTrainer.process_batch; around it: backward, clipping, AdamW at a constant rate."""
from contextlib import ExitStack
from types import SimpleNamespace
from unittest import mock

import torch

from adapters import fill_network, make_network
from reference import write_json, write_tensors


def arguments_of(case):
    """sd-scripts' own defaults with the case's settings, set by name."""
    import train_network
    args = train_network.setup_parser().parse_args([])
    for name, value in case['args'].items():
        if not hasattr(args, name):
            raise SystemExit(f'train_network.py has no option {name}')
        setattr(args, name, value)
    return args


def make_inputs(model, case, generator):
    batches = case['steps'] * case.get('accum', 1)
    batch, height, width = case['sample']
    size = (batches, batch, model.shape['vae']['z_channels'], height, width)
    rows = case.get('token_rows', 1)
    words = [model.token_inputs(batch * rows, generator) for _ in range(batches)]
    ids = {name: torch.stack([one[name] for one in words]) for name in words[0]}
    inputs = {
        'latents': torch.randn(size, generator=generator) * 4, 'noise': torch.randn(size, generator=generator),
        'timesteps': torch.randint(0, 1000, size[:2], generator=generator),
        **{name: value if rows == 1 else value.view(batches, batch, rows, -1) for name, value in ids.items()},
        'loss_weights': torch.tensor(case.get('loss_weights', [1.0]) * batch)[:batch].repeat(batches, 1),
    }
    sizes = [model.sizes(batch, generator) for _ in range(batches)]
    inputs.update({name: torch.stack([one[name] for one in sizes]) for name in sizes[0]})
    if case['args'].get('noise_offset'):
        inputs['noise_offset_random'] = torch.randn(*size[:3], 1, 1, generator=generator)
    if case['args'].get('ip_noise_gamma'):
        inputs['ip_noise_random'] = torch.randn(size, generator=generator)
    if case.get('mask'):
        inputs['alpha_masks_u8'] = torch.randint(0, 256, (batches, batch, 8 * height, 8 * width), generator=generator).to(torch.uint8)
    return inputs


class Trainer:
    """One run of a case. `attention` "sdpa" takes the U-Net's other attention kernel."""

    def __init__(self, model, case, inputs, attention='plain'):
        self.model, self.case, self.inputs = model, case, inputs
        self.args = arguments_of(case)
        self.trainer, self.encoding, self.tokenizing = model.make_trainer(self.args)
        self.trainer.vae_scale_factor = model.latent_scale
        self.scheduler = self.trainer.get_noise_scheduler(self.args, torch.device('cpu'))
        self.accelerator = SimpleNamespace(device=torch.device('cpu'), autocast=ExitStack, unwrap_model=lambda part: part)
        model.unet.set_use_sdpa(attention == 'sdpa')
        self.network = make_network(model, case['network'])

    def start(self, weights):
        """Attaches the network with the given weights, and makes the optimizer."""
        case = self.case
        self.network.apply_to(self.model.text, self.model.unet, case['train_te'], case['train_unet'])
        if weights is not None:
            self.network.load_state_dict(weights)
        rates = case.get('te_lr', case['lr']), case.get('unet_lr', case['lr']), case['lr']
        groups, _ = self.network.prepare_optimizer_params(*rates)
        groups = [{**group, 'params': list(group['params'])} for group in groups]
        options = {'weight_decay': 0.01, **case.get('opt', {})}
        self.optimizer = torch.optim.AdamW(groups, lr=case['lr'], **options)

    def encoders(self):
        return self.model.text if isinstance(self.model.text, list) else [self.model.text]

    def loss(self, index):
        row = {name: value[index] for name, value in self.inputs.items()}
        ids = [row[name] if row[name].dim() == 3 else row[name][:, None] for name in ('input_ids', 'input_ids2') if name in row]
        sizes = {name: value for name, value in row.items() if name.endswith(('_sizes_hw', 'crop_top_lefts'))}
        batch = {'latents': row['latents'], 'input_ids_list': ids, 'loss_weights': row['loss_weights'], **sizes,
                 'captions': None, 'alpha_masks': row['alpha_masks_u8'].float() / 255 if 'alpha_masks_u8' in row else None}
        drawn = [row['noise']] + ([row['ip_noise_random']] if 'ip_noise_random' in row else [])
        from library import train_util
        with ExitStack() as stack:
            stack.enter_context(mock.patch.object(torch, 'randn_like', mock.Mock(side_effect=drawn)))
            stack.enter_context(mock.patch.object(torch, 'randn', mock.Mock(side_effect=[row.get('noise_offset_random')])))
            stack.enter_context(mock.patch.object(train_util, 'get_timesteps', lambda *_: row['timesteps']))
            return self.trainer.process_batch(
                batch, self.encoders(), self.model.unet, self.network, self.model.vae, self.scheduler, torch.float32,
                torch.float32, self.accelerator, self.args, self.encoding, self.tokenizing, is_train=True,
                train_text_encoder=self.case['train_te'], train_unet=self.case['train_unet'])

    def run(self):
        accum, most = self.case.get('accum', 1), self.case.get('max_grad_norm', 1.0)
        losses, norms, first = [], [], {}
        for step in range(self.case['steps']):
            row = []
            for micro in range(accum):
                loss = self.loss(step * accum + micro)
                (loss / accum).backward()
                row.append(loss.item())
                if micro + 1 < accum:
                    self.limit_norms()
            parameters = [p for group in self.optimizer.param_groups for p in group['params']]
            if step == 0:
                first = {name: p.grad.clone() for name, p in self.network.named_parameters() if p.grad is not None}
            norms.append(torch.nn.utils.clip_grad_norm_(parameters, most if most > 0 else float('inf')).item())
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.limit_norms()
            losses.append(row[0] if accum == 1 else row)
        return losses, norms, first

    def limit_norms(self):
        if self.args.scale_weight_norms:
            self.network.apply_max_norm_regularization(self.args.scale_weight_norms, torch.device('cpu'))

    def stop(self):
        for lora in self.network.text_encoder_loras + self.network.unet_loras:
            lora.org_forward.__self__.forward = lora.org_forward


def spread(first, second):
    flat = [torch.tensor(losses).flatten().double() for losses, _ in (first, second)]
    difference = torch.cat([(first[1][name].double() - second[1][name].double()).abs().flatten() for name in first[1]])
    return {'how': 'same run with the other attention kernel (scaled_dot_product_attention)',
            'loss_relative': ((flat[0] - flat[1]).abs() / flat[0].abs()).max().item(),
            'final_weight_max_abs': difference.max().item(),
            'final_weight_999_permille_abs': difference.quantile(0.999).item() if len(difference) < 2**24 else None}


def write_case(folder, name, model, case, seed):
    from safetensors import safe_open
    generator = torch.Generator().manual_seed(seed)
    inputs = make_inputs(model, case, generator)
    results = []
    initial = None
    for attention in ('sdpa', 'plain'):
        trainer = Trainer(model, case, inputs, attention)
        trainer.start(None)
        if initial is None:
            fill_network(trainer.network, generator)
            initial = {key: value.clone() for key, value in trainer.network.state_dict().items()}
        trainer.network.load_state_dict(initial)
        losses, norms, gradients = trainer.run()
        results.append((losses, {key: value.clone() for key, value in trainer.network.state_dict().items()}))
        trainer.stop()
    write_tensors(folder / f'{name}_inputs.safetensors', inputs)
    write_tensors(folder / f'{name}_init.safetensors', initial)
    if case.get('keep_grad'):
        write_tensors(folder / f'{name}_grad0.safetensors', gradients)
    final = folder / f'{name}_final.safetensors'
    network = case['network']
    trainer.network.save_weights(str(final), None, {'ss_network_module': 'networks.lora', 'ss_network_dim': str(network['dim']),
                                                    'ss_network_alpha': str(network['alpha'])})
    with safe_open(str(final), 'pt') as file:
        metadata = file.metadata()
    known = ('args', 'network', 'accum', 'steps', 'te_lr', 'unet_lr', 'opt', 'max_grad_norm', 'mask', 'train_te', 'train_unet', 'lr',
             'keep_grad', 'loss_weights')
    settings = {key: case[key] for key in known if key in case}
    settings['args'] = {key: value for key, value in case['args'].items() if value is not None}
    write_json(folder / f'{name}.json', {
        'kind': 'lora', 'arch': model.name, **settings, 'losses': losses, 'grad_norms_before_clipping': norms,
        'lr_scheduler': 'constant', 'optimizer': 'torch.optim.AdamW', 'observed_spread': spread(*results), 'metadata': metadata})


def write(folder, cases, model, seed):
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, case) in enumerate(cases.items()):
        if name.startswith(model.name + '_'):
            write_case(folder, name, model, case, seed + number)
    model.unet.set_use_sdpa(False)
