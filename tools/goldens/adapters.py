"""adapters/: LoRA files, the models' outputs with them, merged weights, the PEFT form, hashes."""
import re

import torch
from safetensors.torch import load_file

from reference import write_json, write_tensors

MULTIPLIERS = (1.0, 0.7)


def make_network(model, settings):
    from networks import lora
    targets = list(lora.LoRANetwork.UNET_TARGET_REPLACE_MODULE)
    # Everything else that a case names goes into network_args, whose values are texts.
    own = ('dim', 'alpha', 'is_alpha_left_out', 'dtype')
    arguments = {key: str(value) for key, value in settings.items() if key not in own and value is not None}
    try:
        return lora.create_network(1.0, settings['dim'], settings['alpha'], model.vae, model.text, model.unet, **arguments)
    finally:
        # The reference extends this list of the class itself when convolutions are asked for: other networks of the same
        # process would get their linear layers, too.
        lora.LoRANetwork.UNET_TARGET_REPLACE_MODULE[:] = targets


def fill_network(network, generator):
    for value in network.parameters():
        value.data = torch.randn(value.shape, generator=generator) * (0.5 / value[0].numel() ** 0.5)


def outputs(model, inputs):
    with torch.no_grad():
        return model.adapter_outputs(inputs)


def modules_by_name(network):
    return {lora.lora_name: lora for lora in network.text_encoder_loras + network.unet_loras}


def from_file(model, weights, multiplier):
    from networks import lora
    targets = list(lora.LoRANetwork.UNET_TARGET_REPLACE_MODULE)
    try:
        network, _ = lora.create_network_from_weights(multiplier, '', model.vae, model.text, model.unet, dict(weights),
                                                      for_inference=True)
    finally:
        lora.LoRANetwork.UNET_TARGET_REPLACE_MODULE[:] = targets
    return network


def merged_weights(model, weights, multiplier, chosen):
    """Some layers' weights after merging into the models, which are restored."""
    network = from_file(model, weights, multiplier)
    layers = {name: lora.org_module for name, lora in modules_by_name(network).items()}
    kept = {name: layer.weight.data.clone() for name, layer in layers.items()}
    network.merge_to(model.text, model.unet, weights, torch.float32, 'cpu')
    result = {name: layers[name].weight.data.clone() for name in chosen}
    for name, layer in layers.items():
        layer.weight.data = kept[name]
    return result


def outputs_with(model, weights, multiplier, inputs):
    network = from_file(model, weights, multiplier)
    network.apply_to(model.text, model.unet)
    missing = network.load_state_dict(weights, strict=False)
    if missing.unexpected_keys:
        raise SystemExit(f'the reference does not know {missing.unexpected_keys[:3]}')
    result = outputs(model, inputs)
    for lora in modules_by_name(network).values():
        lora.org_module_ref[0].forward = lora.org_forward
    return result


def peft_form(model, network, weights):
    """The same LoRA under the keys of diffusers and PEFT, alpha folded into the up matrix."""
    paths = {}
    for prefix, component, part in model.peft_parts():
        for path, _ in part.named_modules():
            paths[f'{prefix}_{path}'.replace('.', '_')] = f'{component}.{path}'
    result = {}
    for name, lora in modules_by_name(network).items():
        result[paths[name] + '.lora_A.weight'] = weights[name + '.lora_down.weight'].float()
        result[paths[name] + '.lora_B.weight'] = weights[name + '.lora_up.weight'].float() * lora.scale
    return result


def chosen_layers(names):
    patterns = ('_fc1$', '_q_proj$', 'attn1_to_q$', '_proj_in$', 'attn2_to_k$', 'ff_net_0_proj$', '_conv1$', 'downsamplers_0_conv$',
                'upsamplers_0_conv$', 'time_emb_proj$', 'conv_shortcut$', '_in_layers_2$', '_0_op$', '_2_conv$', 'emb_layers_1$',
                'skip_connection$')
    return [next(name for name in names if re.search(pattern, name)) for pattern in patterns
            if any(re.search(pattern, name) for name in names)]


def write_case(folder, name, model, settings, inputs, generator):
    network = make_network(model, settings)
    network.apply_to(model.text, model.unet)
    fill_network(network, generator)
    for lora in modules_by_name(network).values():
        lora.org_forward.__self__.forward = lora.org_forward
    dtype = getattr(torch, settings['dtype']) if 'dtype' in settings else None
    path = folder / f'{name}.safetensors'
    if settings.get('is_alpha_left_out'):
        weights = {key: value.to(dtype or value.dtype) for key, value in network.state_dict().items() if not key.endswith('.alpha')}
        write_tensors(path, weights)
    else:
        network.save_weights(str(path), dtype, {
            'ss_network_module': 'networks.lora', 'ss_network_dim': str(settings['dim']),
            'ss_network_alpha': str(settings['alpha']), 'ss_network_args': '{}'})
    weights = load_file(str(path))
    layers = chosen_layers(list(modules_by_name(network)))
    io = {'base.' + key: value for key, value in outputs(model, inputs).items()}
    for multiplier in MULTIPLIERS:
        io.update({f'mult{multiplier}.{key}': value for key, value in outputs_with(model, weights, multiplier, inputs).items()})
        io.update({f'merged{multiplier}.{key}': value for key, value in merged_weights(model, weights, multiplier, layers).items()})
    write_tensors(folder / f'{name}_io.safetensors', io)
    if name == f'{model.name}_lora' and model.peft_parts():
        write_tensors(folder / f'{name}_peft.safetensors', peft_form(model, network, weights))


def hashes_of(path):
    from library import train_util
    from safetensors import safe_open
    with safe_open(str(path), 'pt') as file:
        metadata = file.metadata() or {}
    model_hash, legacy_hash = train_util.precalculate_safetensors_hashes(load_file(str(path)), metadata)
    with open(path, 'rb') as file:
        data_hash = train_util.addnet_hash_safetensors(file)
    return {'sshs_model_hash': model_hash, 'sshs_legacy_hash': legacy_hash,
            'stored_model_hash': metadata.get('sshs_model_hash'), 'stored_legacy_hash': metadata.get('sshs_legacy_hash'),
            'file_sha256': train_util.calculate_sha256(str(path)), 'model_hash_first_0x10000': train_util.model_hash(str(path)),
            'addnet_hash_safetensors': data_hash}


def write(folder, cases, model, seed):
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(seed)
    inputs = model.adapter_inputs(generator)
    write_tensors(folder / f'{model.name}_inputs.safetensors', inputs)
    for name, settings in cases.items():
        if name.startswith(model.name + '_'):
            write_case(folder, name, model, settings, inputs, generator)


def write_hashes(folder):
    """Of everything that stands in the folder, and of the base models."""
    from library import train_util
    files = sorted(folder.glob('*.safetensors'))
    write_json(folder / 'hashes.json', {path.name: hashes_of(path) for path in files if not path.stem.endswith(('_io', '_inputs'))})
    checkpoint = folder.parent / 'models' / 'sd15.safetensors'
    if checkpoint.exists():
        write_json(folder / 'tools.json', {'hash_of_checkpoints': {checkpoint.name: {
            'model_hash': train_util.model_hash(str(checkpoint)), 'sha256': train_util.calculate_sha256(str(checkpoint))}}})
