"""models/: a checkpoint, its description, and what the reference computes with it."""
import re

import torch
import torch.nn.functional as F

import open_clip
from reference import write_json, write_tensors
from sd15_reference import TEXT_PREFIX, UNET_PREFIX

# One parameter of each kind, on both sides of the U-Net; the pattern's first match in the file's order and its last one.
TEXT_GRADIENTS = [TEXT_PREFIX + 'text_model.' + rest for rest in (
    'embeddings.position_embedding.weight', r'encoder.layers.\d+.self_attn.q_proj.weight', r'encoder.layers.\d+.mlp.fc1.weight',
    r'encoder.layers.\d+.self_attn.v_proj.bias', r'encoder.layers.\d+.layer_norm2.weight', 'final_layer_norm.weight')]
OPEN_CLIP_GRADIENTS = [r'c\w+\.(embedders.1.)?model.' + rest for rest in (
    'positional_embedding', r'transformer.resblocks.\d+.attn.in_proj_weight', r'transformer.resblocks.\d+.mlp.c_fc.weight',
    r'transformer.resblocks.\d+.attn.in_proj_bias', r'transformer.resblocks.\d+.ln_2.weight', 'ln_final.weight', 'text_projection')]
TEXT1_GRADIENTS = [r'conditioner.embedders.0.transformer.text_model.encoder.layers.\d+.' + rest for rest in (
    'self_attn.q_proj.weight', 'mlp.fc2.weight')]
UNET_GRADIENTS = [UNET_PREFIX + rest for rest in (
    'time_embed.0.weight', 'input_blocks.0.0.weight', r'input_blocks.\d+.0.in_layers.0.weight',
    r'input_blocks.\d+.0.in_layers.2.weight', r'input_blocks.\d+.0.op.weight', 'middle_block.2.emb_layers.1.weight',
    r'\w+_blocks?.\d+.\d.proj_in.weight', r'\w+_blocks?.\d+.\d.transformer_blocks.\d.attn1.to_q.weight',
    r'\w+_blocks?.\d+.\d.transformer_blocks.\d.attn2.to_k.weight', r'\w+_blocks?.\d+.\d.transformer_blocks.\d.ff.net.0.proj.weight',
    r'\w+_blocks?.\d+.\d.transformer_blocks.\d.norm3.weight', r'middle_block.1.transformer_blocks.\d.attn2.to_out.0.bias',
    r'output_blocks.\d+.0.skip_connection.weight', r'output_blocks.\d+.[12].conv.bias', 'out.0.bias', 'out.2.weight')]
UNET_GRADIENTS.append(UNET_PREFIX + 'label_emb.0.0.bias')
GRADIENTS = TEXT_GRADIENTS + OPEN_CLIP_GRADIENTS + TEXT1_GRADIENTS + UNET_GRADIENTS


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
    sample = io['unet.a.sample']
    target = torch.randn(sample.shape, generator=generator)
    timesteps = torch.randint(0, 1000, (len(sample),), generator=generator)

    def predict():
        context = model.text(io['te.input_ids']).last_hidden_state
        return {'train.context': context, 'train.pred': model.unet(sample, timesteps, context).sample}
    return {'train.timesteps': timesteps, 'train.target': target, **backward(model, predict, target)}


def backward(model, predict, target):
    """What `predict` gives, the loss, and the gradients of a choice of parameters under the names of the file."""
    parameters = model.file_tensors()
    chosen = set()
    for pattern in GRADIENTS:
        found = [name for name in parameters if re.fullmatch(pattern, name)]
        chosen.update(found[:1] + found[-1:])
    owners = [value for part in model.parts() for value in part.parameters()]
    for value in owners:
        value.requires_grad_(True)
    with torch.enable_grad():
        result = predict()
        loss = F.mse_loss(result['train.pred'], target)
        loss.backward()
    result['train.loss'] = loss.reshape(1)
    # A last layer that nothing depends on has no gradient.
    result.update({'grad.' + name: model.in_file(name, parameters[name].grad) for name in chosen
                   if parameters[name].grad is not None})
    for value in owners:
        value.requires_grad_(False)
        value.grad = None
    return {name: value.detach() for name, value in result.items()}


def sdxl_outputs(model, generator):
    """Everything of SDXL; its pooled text is projected as sd-scripts does, which is checked with the switch for it."""
    from library import sdxl_train_util
    batch = model.shape['sample'][0]
    ids = model.token_inputs(batch, generator)
    io = {'te1.input_ids': ids['input_ids'], 'te2.input_ids': ids['input_ids2']}
    for key, text in (('te1', model.text1), ('te2', model.text2)):
        out = text(io[key + '.input_ids'], output_hidden_states=True)
        last = len(out.hidden_states) - 1
        for index in sorted({0, 1, last - 1, last}):
            io[f'{key}.hidden_states.{index}'] = out.hidden_states[index]
        io[key + '.penultimate_ln'] = text.text_model.final_layer_norm(out.hidden_states[-2])
        io[key + '.last_hidden_state'] = out.last_hidden_state
    hidden1, hidden2, pooled = model.conditions(ids)
    io.update({'cond.hidden1': hidden1, 'cond.hidden2': hidden2, 'cond.pool2': pooled})
    ends = (ids['input_ids2'] == model.shape['text_encoder_2']['vocab_size'] - 1).int().argmax(1)
    at_end = io['te2.last_hidden_state'][torch.arange(batch), ends]
    io['te2.pooled_open_clip'] = at_end @ model.text2.text_projection.weight
    sizes = model.sizes(batch, generator)
    io.update({'size.original_hw': sizes['original_sizes_hw'], 'size.crop_top_left': sizes['crop_top_lefts'],
               'size.target_hw': sizes['target_sizes_hw']})
    io['size.embedding'] = sdxl_train_util.get_size_embeddings(*sizes.values(), 'cpu')
    io['unet.y'] = torch.cat([pooled, io['size.embedding']], 1)
    for case, size, length in (('a', model.shape['sample'], 77), ('b', model.shape['other_sample'], model.shape['other_context'])):
        sample = torch.randn(batch, model.shape['vae']['z_channels'], *size[1:], generator=generator)
        context = torch.randn(batch, length, model.shape['unet']['context_dim'], generator=generator)
        io.update({f'unet.{case}.sample': sample, f'unet.{case}.context': context})
        for number in range(2):
            timesteps = torch.randint(0, 1000, (batch,), generator=generator)
            io[f'unet.{case}.timesteps.{number}'] = timesteps
            io[f'unet.{case}.out.{number}'] = model.unet(sample, timesteps, context, io['unet.y'])
    io.update(vae_outputs(model, generator))
    target = torch.randn(io['unet.a.sample'].shape, generator=generator)
    timesteps = torch.randint(0, 1000, (batch,), generator=generator)

    def predict():
        first, second, pool = model.conditions(ids)
        y = torch.cat([pool, io['size.embedding']], 1)
        return {'train.pred': model.unet(io['unet.a.sample'], timesteps, torch.cat([first, second], 2), y)}
    io.update({'train.timesteps': timesteps, 'train.target': target, **backward(model, predict, target)})
    return io


def write(folder, model, seed):
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(seed)
    dtype = getattr(torch, model.shape['weights_dtype'])
    tensors = {name: model.in_file(name, open_clip.value_of(value)) for name, value in model.file_tensors().items()}
    if model.shape.get('has_extra_keys') or model.name == 'sd2':
        tensors.update(model.extra_tensors())
    tensors = {name: value.to(dtype) if value.is_floating_point() else value for name, value in tensors.items()}
    write_tensors(folder / f'{model.name}.safetensors', tensors)
    write_json(folder / f'{model.name}.json', model.description())
    with torch.no_grad():
        if model.name == 'sdxl':
            write_tensors(folder / 'sdxl_io.safetensors', sdxl_outputs(model, generator))
            return
        io = text_outputs(model, model.token_rows(model.shape['sample'][0], generator))
        io.update(vae_outputs(model, generator))
        io.update(unet_outputs(model, generator))
        io.update(training_outputs(model, io, generator))
    write_tensors(folder / f'{model.name}_io.safetensors', io)
