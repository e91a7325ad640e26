"""transformers' CLIP text encoders as open_clip stores them: names, and query, key and value as one tensor."""
import torch

TOP = {'text_model.embeddings.token_embedding.weight': 'token_embedding.weight',
       'text_model.embeddings.position_embedding.weight': 'positional_embedding',
       'text_model.final_layer_norm.weight': 'ln_final.weight', 'text_model.final_layer_norm.bias': 'ln_final.bias'}
PARTS = {'layer_norm1': 'ln_1', 'layer_norm2': 'ln_2', 'mlp.fc1': 'mlp.c_fc', 'mlp.fc2': 'mlp.c_proj',
         'self_attn.out_proj': 'attn.out_proj'}
LAYERS = 'text_model.encoder.layers.'


class Fused:
    """Three parameters that the file holds as one; looks enough like a parameter for writing values and gradients."""

    def __init__(self, parts):
        self.parts = parts

    @property
    def value(self):
        return torch.cat([part.data for part in self.parts])

    @property
    def grad(self):
        grads = [part.grad for part in self.parts]
        return None if any(grad is None for grad in grads) else torch.cat(grads)


def tensors_of(named_parameters, prefix):
    """File name to parameter or Fused. text_projection is left to the caller."""
    parameters = dict(named_parameters)
    result, fused = {}, {}
    for name, value in parameters.items():
        if name in TOP:
            result[prefix + TOP[name]] = value
        elif name.startswith(LAYERS):
            number, rest = name[len(LAYERS):].split('.', 1)
            part, ending = rest.rsplit('.', 1)
            block = f'{prefix}transformer.resblocks.{number}.'
            if part in PARTS:
                result[f'{block}{PARTS[part]}.{ending}'] = value
            else:
                fused.setdefault(f'{block}attn.in_proj_{ending}', {})[part.split('.')[1]] = value
    for name, parts in fused.items():
        result[name] = Fused([parts['q_proj'], parts['k_proj'], parts['v_proj']])
    return result


def value_of(entry):
    return entry.value if isinstance(entry, Fused) else entry.data
