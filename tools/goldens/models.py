"""models/: a checkpoint, its description, and what the reference computes with it."""
import re

import torch
import torch.nn.functional as F

from reference import write_json, write_tensors
from sd15_reference import TEXT_PREFIX, UNET_PREFIX

# One parameter of each kind, on both sides of the U-Net; the pattern's first match in the file's order and its last one.
GRADIENTS = [TEXT_PREFIX + 'text_model.' + rest for rest in (
    'embeddings.position_embedding.weight', r'encoder.layers.\d+.self_attn.q_proj.weight', r'encoder.layers.\d+.mlp.fc1.weight',
    r'encoder.layers.\d+.self_attn.v_proj.bias', r'encoder.layers.\d+.layer_norm2.weight', 'final_layer_norm.weight')]
GRADIENTS += [UNET_PREFIX + rest for rest in (
    'time_embed.0.weight', 'input_blocks.0.0.weight', r'input_blocks.\d+.0.in_layers.0.weight',
    r'input_blocks.\d+.0.in_layers.2.weight', r'input_blocks.\d+.0.op.weight', 'middle_block.2.emb_layers.1.weight',
    r'\w+_blocks?.\d+.\d.proj_in.weight', r'\w+_blocks?.\d+.\d.transformer_blocks.\d.attn1.to_q.weight',
    r'\w+_blocks?.\d+.\d.transformer_blocks.\d.attn2.to_k.weight', r'\w+_blocks?.\d+.\d.transformer_blocks.\d.ff.net.0.proj.weight',
    r'\w+_blocks?.\d+.\d.transformer_blocks.\d.norm3.weight', r'middle_block.1.transformer_blocks.\d.attn2.to_out.0.bias',
    r'output_blocks.\d+.0.skip_connection.weight', r'output_blocks.\d+.[12].conv.bias', 'out.0.bias', 'out.2.weight')]


def text_outputs(model, ids):
    out = model.text(ids, output_hidden_states=True)
    states = out.hidden_states
    last = len(states) - 1
    result = {f'te.hidden_states.{i}': states[i] for i in sorted({0, 1, last - 1, last})}
    result['te.penultimate_ln'] = model.text.text_model.final_layer_norm(states[-2])
    result['te.last_hidden_state'] = out.last_hidden_state
    result['te.pooled'] = out.pooler_output
    return {'te.input_ids': ids, **result}


def vae_outputs(model, generator):
    batch, height, width = model.shape['image']
    image = torch.randn(batch, 3, height, width, generator=generator).clamp(-1, 1)
    posterior = model.vae.encode(image).latent_dist
    latent = torch.randn(posterior.mean.shape, generator=generator)
    return {'vae.image': image, 'vae.moments': torch.cat([posterior.mean, posterior.logvar], 1), 'vae.mean': posterior.mean,
            'vae.std': posterior.std, 'vae.latent_in': latent, 'vae.decoded': model.vae.decode(latent).sample}


def unet_outputs(model, generator):
    result = {}
    channels = model.shape['vae']['z_channels']
    for case, size, length in (('a', model.shape['sample'], model.shape['context']),
                               ('odd', model.shape['odd_sample'], model.shape['odd_context'])):
        batch, height, width = size
        sample = torch.randn(batch, channels, height, width, generator=generator)
        context = torch.randn(batch, length, model.shape['unet']['context_dim'], generator=generator)
        result.update({f'unet.{case}.sample': sample, f'unet.{case}.context': context})
        for number in range(2):
            timesteps = torch.randint(0, 1000, (batch,), generator=generator)
            result[f'unet.{case}.timesteps.{number}'] = timesteps
            result[f'unet.{case}.out.{number}'] = model.unet(sample, timesteps, context).sample
    return result


def training_outputs(model, io, generator):
    """Mean squared error through U-Net and text encoder, and gradients of a choice of parameters."""
    parameters = model.file_tensors()
    chosen = set()
    for pattern in GRADIENTS:
        found = [name for name in parameters if re.fullmatch(pattern, name)]
        chosen.update(found[:1] + found[-1:])
    owners = [*model.text.parameters(), *model.unet.parameters()]
    for value in owners:
        value.requires_grad_(True)
    sample = io['unet.a.sample']
    target = torch.randn(sample.shape, generator=generator)
    timesteps = torch.randint(0, 1000, (len(sample),), generator=generator)
    with torch.enable_grad():
        context = model.text(io['te.input_ids']).last_hidden_state
        prediction = model.unet(sample, timesteps, context).sample
        loss = F.mse_loss(prediction, target)
        loss.backward()
    result = {'train.timesteps': timesteps, 'train.target': target, 'train.context': context, 'train.pred': prediction,
              'train.loss': loss.reshape(1)}
    result.update({'grad.' + name: parameters[name].grad for name in chosen})
    for value in owners:
        value.requires_grad_(False)
        value.grad = None
    return {name: value.detach() for name, value in result.items()}


def write(folder, model, seed):
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(seed)
    dtype = getattr(torch, model.shape['weights_dtype'])
    tensors = {name: value.to(dtype) for name, value in model.file_tensors().items()}
    if model.shape['has_extra_keys']:
        tensors.update(model.extra_tensors())
    write_tensors(folder / 'sd15.safetensors', tensors)
    write_json(folder / 'sd15.json', model.description())
    with torch.no_grad():
        io = text_outputs(model, model.token_rows(model.shape['sample'][0], generator))
        io.update(vae_outputs(model, generator))
        io.update(unet_outputs(model, generator))
        io.update(training_outputs(model, io, generator))
    write_tensors(folder / 'sd15_io.safetensors', io)
