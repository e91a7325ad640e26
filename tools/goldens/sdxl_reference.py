"""Small random SDXL models. The constructor of the U-Net is ours, since sd-scripts' fixes all widths; its blocks and its
forward pass are sd-scripts'."""
from contextlib import contextmanager
from types import SimpleNamespace

import torch
from torch import nn

import open_clip
from sd15_reference import UNET_PREFIX, VAE_PREFIX, build_text, build_vae, fill, vae_name

TEXT1_PREFIX, TEXT2_PREFIX = 'conditioner.embedders.0.transformer.', 'conditioner.embedders.1.model.'
SIZE_WIDTH = 256


@contextmanager
def other_constants(module, values, groups):
    """Constants of the module at ours, and GroupNorms with our number of groups, while models are built."""
    kept = {name: getattr(module, name) for name in values}
    plain = nn.GroupNorm.__init__

    def with_our_groups(self, num_groups, num_channels, *more, **named):
        plain(self, groups, num_channels, *more, **named)
    nn.GroupNorm.__init__ = with_our_groups
    try:
        for name, value in values.items():
            setattr(module, name, value)
        yield
    finally:
        nn.GroupNorm.__init__ = plain
        for name, value in kept.items():
            setattr(module, name, value)


def unet_class():
    from library import sdxl_original_unet as module

    class SmallUNet(module.SdxlUNet2DConditionModel):
        def __init__(self, shape, channels):
            nn.Module.__init__(self)
            self.model_channels, time = shape['model_channels'], 4 * shape['model_channels']
            self.gradient_checkpointing = False
            widths = [self.model_channels * mult for mult in shape['channel_mult']]
            depths, count = shape['transformer_depth_per_level'], shape['num_res_blocks']

            def perceptron(inner):
                return nn.Sequential(nn.Linear(inner, time), nn.SiLU(), nn.Linear(time, time))

            def transformer(width, depth):
                return module.Transformer2DModel(
                    num_attention_heads=width // shape['head_dim'], attention_head_dim=shape['head_dim'], in_channels=width,
                    num_transformer_layers=depth, use_linear_projection=True, cross_attention_dim=shape['context_dim'])

            def block(inner, width, depth):
                parts = [module.ResnetBlock2D(in_channels=inner, out_channels=width)]
                return nn.ModuleList(parts + ([transformer(width, depth)] if depth else []))

            self.time_embed = perceptron(self.model_channels)
            self.label_emb = nn.Sequential(perceptron(shape['adm_in_channels']))
            self.input_blocks = nn.ModuleList([nn.Sequential(nn.Conv2d(channels, self.model_channels, 3, padding=1))])
            width, skips = self.model_channels, [self.model_channels]
            for level, (wide, depth) in enumerate(zip(widths, depths)):
                for _ in range(count):
                    self.input_blocks.append(block(width, wide, depth))
                    width = wide
                    skips.append(width)
                if level + 1 < len(widths):
                    self.input_blocks.append(nn.Sequential(module.Downsample2D(channels=width, out_channels=width)))
                    skips.append(width)
            self.middle_block = block(width, width, shape['middle_depth'])
            self.middle_block.append(module.ResnetBlock2D(in_channels=width, out_channels=width))
            self.output_blocks = nn.ModuleList()
            for level, (wide, depth) in reversed(list(enumerate(zip(widths, depths)))):
                for number in range(count + 1):
                    self.output_blocks.append(block(width + skips.pop(), wide, depth))
                    width = wide
                    if level > 0 and number == count:
                        self.output_blocks[-1].append(module.Upsample2D(channels=width, out_channels=width))
            self.out = nn.ModuleList([module.GroupNorm32(32, self.model_channels), nn.SiLU(),
                                      nn.Conv2d(self.model_channels, channels, 3, padding=1)])

    return SmallUNet


def build_unet(shape, channels):
    from library import sdxl_original_unet as module
    with other_constants(module, {'TIME_EMBED_DIM': 4 * shape['model_channels']}, shape['group_norm_groups']):
        return unet_class()(shape, channels)


def build_text2(shape):
    from transformers import CLIPTextConfig, CLIPTextModelWithProjection
    config = CLIPTextConfig(
        vocab_size=shape['vocab_size'], hidden_size=shape['hidden_size'], intermediate_size=shape['intermediate_size'],
        num_hidden_layers=shape['layers'], num_attention_heads=shape['num_heads'], hidden_act='gelu',
        max_position_embeddings=shape['max_position'], layer_norm_eps=1e-5, projection_dim=shape['hidden_size'],
        bos_token_id=shape['vocab_size'] - 2, eos_token_id=shape['vocab_size'] - 1, pad_token_id=0)
    config._attn_implementation = 'eager'
    return CLIPTextModelWithProjection(config)


def text_description(shape, layout, pad):
    last = shape['vocab_size'] - 1
    return {'layout': layout, 'vocab_size': shape['vocab_size'], 'bos_token_id': last - 1, 'eos_token_id': last,
            'pad_token_id': last if pad is None else pad, 'hidden_size': shape['hidden_size'], 'num_layers': shape['layers'],
            'num_heads': shape['num_heads'], 'intermediate_size': shape['intermediate_size'],
            'hidden_act': shape['hidden_act'], 'layer_norm_eps': 1e-05}


class Sdxl:
    """The four models with random weights, and their single file."""
    name = 'sdxl'
    latent_scale = 0.13025

    def __init__(self, shape, seed):
        self.shape = shape
        generator = torch.Generator().manual_seed(seed)
        unet = shape['unet']
        first, second = shape['text_encoder_1'], shape['text_encoder_2']
        unet['context_dim'] = first['hidden_size'] + second['hidden_size']
        unet['adm_in_channels'] = second['hidden_size'] + 6 * SIZE_WIDTH
        self.unet = build_unet(unet, shape['vae']['z_channels'])
        self.text1, self.text2 = build_text(first), build_text2(second)
        self.vae = build_vae(shape['vae'])
        dtype = getattr(torch, shape['weights_dtype'])
        for part in (self.text1, self.text2, self.unet, self.vae):
            fill(part, generator)
            for value in part.parameters():
                value.data = value.data.to(dtype).float()
            part.eval()
            part.requires_grad_(False)
        self.text = [self.text1, self.text2]

    def parts(self):
        return [self.text1, self.text2, self.unet]

    def file_tensors(self):
        tensors = {TEXT1_PREFIX + name: value for name, value in self.text1.named_parameters()}
        tensors.update(open_clip.tensors_of(self.text2.named_parameters(), TEXT2_PREFIX))
        tensors[TEXT2_PREFIX + 'text_projection'] = self.text2.text_projection.weight
        tensors.update({UNET_PREFIX + name: value for name, value in self.unet.named_parameters()})
        levels = len(self.shape['vae']['ch_mult'])
        for name, value in self.vae.named_parameters():
            single_file = vae_name(name, levels)
            is_pointwise = '.mid.attn_1.' in single_file and value.dim() == 2
            tensors[VAE_PREFIX + single_file] = value[:, :, None, None] if is_pointwise else value
        return tensors

    def in_file(self, name, value):
        return value

    def extra_tensors(self):
        positions = torch.arange(self.shape['text_encoder_1']['max_position'])[None]
        return {TEXT1_PREFIX + 'text_model.embeddings.position_ids': positions, TEXT2_PREFIX + 'logit_scale': torch.tensor(4.6)}

    def description(self):
        unet, vae = self.shape['unet'], self.shape['vae']
        return {'arch': 'sdxl', 'weights_dtype': self.shape['weights_dtype'], 'prediction_type': 'epsilon',
                'unet': {**unet, 'in_channels': vae['z_channels'], 'out_channels': vae['z_channels'], 'use_linear_projection': True},
                'text_encoder_1': text_description(self.shape['text_encoder_1'], 'hf', None),
                'text_encoder_2': text_description({**self.shape['text_encoder_2'], 'hidden_act': 'gelu'}, 'open_clip', 0),
                'vae': {**vae, 'scaling_factor': self.latent_scale, 'eps': 1e-06}}

    def token_inputs(self, batch, generator):
        """The same words for both encoders, padded as each wants it: [batch, 77]."""
        length = self.shape['text_encoder_1']['max_position']
        last = [self.shape[key]['vocab_size'] - 1 for key in ('text_encoder_1', 'text_encoder_2')]
        rows = [torch.full((batch, length), last[0]), torch.zeros(batch, length, dtype=torch.long)]
        for index in range(batch):
            words = int(torch.randint(0, length - 1, (1,), generator=generator))
            drawn = torch.randint(1, min(last) - 2, (words,), generator=generator)
            for ids, end in zip(rows, last):
                ids[index, 0], ids[index, 1:1 + words], ids[index, 1 + words] = end - 1, drawn, end
        return {'input_ids': rows[0], 'input_ids2': rows[1]}

    def sizes(self, batch, generator):
        """Original size, upper left corner of the cut, size of the picture: [batch, 2] each, in pixels."""
        def draw(low, high):
            return torch.randint(low, high, (batch, 2), generator=generator).float()
        return {'original_sizes_hw': draw(200, 2000), 'crop_top_lefts': draw(0, 300), 'target_sizes_hw': draw(8, 160) * 8}

    def conditions(self, ids):
        from library import strategy_sdxl
        encoding, tokenizing = strategy_sdxl.SdxlTextEncodingStrategy(), self.tokenizing()
        return encoding.encode_tokens(tokenizing, self.text, [ids['input_ids'][:, None], ids['input_ids2'][:, None]])

    def tokenizing(self):
        def tokenizer(key, pad):
            shape = self.shape[key]
            last = shape['vocab_size'] - 1
            return SimpleNamespace(model_max_length=shape['max_position'], pad_token_id=last if pad is None else pad,
                                   eos_token_id=last)
        return SimpleNamespace(tokenizer1=tokenizer('text_encoder_1', None), tokenizer2=tokenizer('text_encoder_2', 0))

    def adapter_inputs(self, generator):
        batch, height, width = self.shape['sample']
        unet = self.shape['unet']
        return {'sample': torch.randn(batch, self.shape['vae']['z_channels'], height, width, generator=generator),
                'timesteps': torch.randint(0, 1000, (batch,), generator=generator),
                'context': torch.randn(batch, 77, unet['context_dim'], generator=generator),
                'y': torch.randn(batch, unet['adm_in_channels'], generator=generator),
                **self.token_inputs(batch, generator)}

    def adapter_outputs(self, inputs):
        first = self.text1(inputs['input_ids'], output_hidden_states=True)
        second = self.text2(inputs['input_ids2'], output_hidden_states=True)
        return {'te1_hidden11': first.hidden_states[11], 'te2_penultimate': second.hidden_states[-2],
                'te2_last': second.last_hidden_state,
                'unet_out': self.unet(inputs['sample'], inputs['timesteps'], inputs['context'], inputs['y'])}

    def peft_parts(self):
        return ()

    def make_trainer(self, args):
        import sdxl_train_network
        from library import strategy_sdxl
        return sdxl_train_network.SdxlNetworkTrainer(), strategy_sdxl.SdxlTextEncodingStrategy(), self.tokenizing()
