"""Small random Stable Diffusion 1 models out of the reference implementations: sd-scripts' U-Net, diffusers' autoencoder,
transformers' text encoder; and the names of their tensors in a single-file checkpoint."""
import re
from types import SimpleNamespace

import torch

UNET_PREFIX, TEXT_PREFIX, VAE_PREFIX = 'model.diffusion_model.', 'cond_stage_model.transformer.', 'first_stage_model.'
RESNET_PARTS = {'norm1': 'in_layers.0', 'conv1': 'in_layers.2', 'time_emb_proj': 'emb_layers.1', 'norm2': 'out_layers.0',
                'conv2': 'out_layers.3', 'conv_shortcut': 'skip_connection'}
VAE_ATTENTION_PARTS = {'group_norm': 'norm', 'to_q': 'q', 'to_k': 'k', 'to_v': 'v', 'to_out.0': 'proj_out'}


def fill(module, generator):
    """Random parameters at which every layer matters: weights keep the variance, norms and biases are off 1 and 0."""
    for name, value in module.named_parameters():
        noise = torch.randn(value.shape, generator=generator)
        if value.dim() == 1:
            value.data = (1.0 if name.endswith('weight') else 0.0) + 0.1 * noise
        elif 'embedding' in name and 'time_embedding' not in name:
            value.data = 0.5 * noise
        else:
            value.data = noise / value[0].numel() ** 0.5


def heads_of(unet_shape):
    levels = len(unet_shape['channel_mult'])
    return unet_shape['head_counts_per_level'] or [unet_shape['num_heads']] * levels


def build_unet(shape, channels):
    """sd-scripts' U-Net class reads its widths from constants of its module, which stand at ours while it is built."""
    from library import original_unet as module
    levels = len(shape['channel_mult'])
    has_attention = [level in shape['attention_at_levels'] for level in range(levels)]
    width = shape['model_channels']
    constants = {
        'BLOCK_OUT_CHANNELS': tuple(width * mult for mult in shape['channel_mult']), 'TIMESTEP_INPUT_DIM': width,
        'TIME_EMBED_DIM': 4 * width, 'IN_CHANNELS': channels, 'OUT_CHANNELS': channels,
        'LAYERS_PER_BLOCK': shape['num_res_blocks'], 'LAYERS_PER_BLOCK_UP': shape['num_res_blocks'] + 1,
        'NORM_GROUPS': shape['group_norm_groups'], 'TRANSFORMER_NORM_NUM_GROUPS': shape['group_norm_groups'],
        'DOWN_BLOCK_TYPES': [('CrossAttn' if has else '') + 'DownBlock2D' for has in has_attention],
        'UP_BLOCK_TYPES': [('CrossAttn' if has else '') + 'UpBlock2D' for has in reversed(has_attention)],
    }
    kept = {name: getattr(module, name) for name in constants}
    try:
        for name, value in constants.items():
            setattr(module, name, value)
        unet = module.UNet2DConditionModel(sample_size=64, attention_head_dim=tuple(heads_of(shape)),
                                           cross_attention_dim=shape['context_dim'])
    finally:
        for name, value in kept.items():
            setattr(module, name, value)
    for part in list(unet.modules()):
        # A plain list there: in published models the block without attention is the last one, which has none.
        if isinstance(part, module.DownBlock2D) and part.downsamplers is not None:
            part.downsamplers = torch.nn.ModuleList(part.downsamplers)
        if isinstance(part, module.Transformer2DModel):
            for _ in range(shape['transformer_depth'] - 1):
                part.transformer_blocks.append(module.BasicTransformerBlock(
                    part.in_channels, part.num_attention_heads, part.attention_head_dim,
                    cross_attention_dim=shape['context_dim']))
    return unet


def build_text(shape):
    from transformers import CLIPTextConfig, CLIPTextModel
    config = CLIPTextConfig(
        vocab_size=shape['vocab_size'], hidden_size=shape['hidden_size'], intermediate_size=shape['intermediate_size'],
        num_hidden_layers=shape['layers'], num_attention_heads=shape['num_heads'], hidden_act=shape['hidden_act'],
        max_position_embeddings=shape['max_position'], layer_norm_eps=1e-5, bos_token_id=shape['vocab_size'] - 2,
        eos_token_id=shape['vocab_size'] - 1, pad_token_id=shape['vocab_size'] - 1)
    config._attn_implementation = 'eager'
    return CLIPTextModel(config)


def build_vae(shape):
    from diffusers import AutoencoderKL
    levels = len(shape['ch_mult'])
    return AutoencoderKL(in_channels=3, out_channels=3, down_block_types=('DownEncoderBlock2D',) * levels,
                         up_block_types=('UpDecoderBlock2D',) * levels,
                         block_out_channels=tuple(shape['ch'] * mult for mult in shape['ch_mult']),
                         layers_per_block=shape['num_res_blocks'], latent_channels=shape['z_channels'],
                         norm_num_groups=shape['group_norm_groups'])


def unet_name(name, shape):
    """Name in a single file of a parameter of sd-scripts' (and diffusers') U-Net."""
    blocks = shape['num_res_blocks']
    levels = len(shape['channel_mult'])
    fixed = {'time_embedding.linear_1': 'time_embed.0', 'time_embedding.linear_2': 'time_embed.2',
             'conv_in': 'input_blocks.0.0', 'conv_norm_out': 'out.0', 'conv_out': 'out.2'}
    for old, new in fixed.items():
        if name.startswith(old + '.'):
            return new + name[len(old):]
    side, level, kind, index, rest = re.match(r'(down_blocks|mid_block|up_blocks)(?:\.(\d+))?\.(\w+)\.(\d+)\.(.*)', name).groups()
    index = int(index)
    if kind == 'resnets':
        part, ending = rest.rsplit('.', 1)
        rest = f'{RESNET_PARTS[part]}.{ending}'
    if side == 'mid_block':
        return f'middle_block.{1 if kind == "attentions" else 2 * index}.{rest}'
    first = int(level) * (blocks + 1)
    if side == 'down_blocks':
        if kind == 'downsamplers':
            return f'input_blocks.{first + blocks + 1}.0.op.{rest.removeprefix("conv.")}'
        return f'input_blocks.{first + 1 + index}.{int(kind == "attentions")}.{rest}'
    if kind == 'upsamplers':
        has_attention = levels - 1 - int(level) in shape['attention_at_levels']
        return f'output_blocks.{first + blocks}.{2 if has_attention else 1}.{rest}'
    return f'output_blocks.{first + index}.{int(kind == "attentions")}.{rest}'


def vae_name(name, levels):
    for side, (old, new) in (('encoder', ('down_blocks', 'down')), ('decoder', ('up_blocks', 'up'))):
        match = re.match(rf'{side}\.{old}\.(\d+)\.(\w+)\.(\d+)\.(.*)', name)
        if not match:
            continue
        level, kind, index, rest = match.groups()
        number = int(level) if side == 'encoder' else levels - 1 - int(level)
        place = f'block.{index}' if kind == 'resnets' else 'downsample' if side == 'encoder' else 'upsample'
        return f'{side}.{new}.{number}.{place}.{rest}'.replace('conv_shortcut', 'nin_shortcut')
    match = re.match(r'(encoder|decoder)\.mid_block\.(resnets|attentions)\.(\d+)\.(.*)', name)
    if match:
        side, kind, index, rest = match.groups()
        if kind == 'resnets':
            return f'{side}.mid.block_{int(index) + 1}.{rest}'
        part, ending = rest.rsplit('.', 1)
        return f'{side}.mid.attn_1.{VAE_ATTENTION_PARTS[part]}.{ending}'
    return name.replace('conv_norm_out', 'norm_out')


class Sd15:
    """The three models with random weights, and their single file."""
    name = 'sd15'
    text_prefix = TEXT_PREFIX
    latent_scale = 0.18215

    def __init__(self, shape, seed):
        self.shape = shape
        generator = torch.Generator().manual_seed(seed)
        self.unet = build_unet(shape['unet'], shape['vae']['z_channels'])
        self.text = build_text(shape['text_encoder'])
        self.vae = build_vae(shape['vae'])
        dtype = getattr(torch, shape['weights_dtype'])
        for part in (self.text, self.unet, self.vae):
            fill(part, generator)
            # What the file cannot hold must not be in the model that computes the numbers.
            for value in part.parameters():
                value.data = value.data.to(dtype).float()
            part.eval()
            part.requires_grad_(False)

    def text_tensors(self):
        return {self.text_prefix + name: value for name, value in self.text.named_parameters()}

    def parts(self):
        return [self.text, self.unet]

    def in_file(self, name, value):
        """The form in which the file holds a parameter."""
        return value

    def file_tensors(self):
        """Single-file name to parameter."""
        tensors = self.text_tensors()
        for name, value in self.unet.named_parameters():
            tensors[UNET_PREFIX + unet_name(name, self.shape['unet'])] = value
        levels = len(self.shape['vae']['ch_mult'])
        for name, value in self.vae.named_parameters():
            single_file = vae_name(name, levels)
            is_pointwise = '.mid.attn_1.' in single_file and value.dim() == 2
            tensors[VAE_PREFIX + single_file] = value[:, :, None, None] if is_pointwise else value
        return tensors

    def extra_tensors(self):
        """What published checkpoints hold beside the models."""
        positions = torch.arange(self.shape['text_encoder']['max_position'])[None]
        return {TEXT_PREFIX + 'text_model.embeddings.position_ids': positions, 'alphas_cumprod': torch.linspace(1, 0, 1000),
                'model_ema.decay': torch.tensor(0.9999)}

    def description(self):
        unet, text, vae = self.shape['unet'], self.shape['text_encoder'], self.shape['vae']
        return {
            'arch': self.name, 'weights_dtype': self.shape['weights_dtype'], 'prediction_type': 'epsilon',
            'unet': {**unet, 'in_channels': vae['z_channels'], 'out_channels': vae['z_channels'],
                     'use_linear_projection': False},
            'text_encoder': {'layout': 'hf', 'vocab_size': text['vocab_size'], 'bos_token_id': text['vocab_size'] - 2,
                             'eos_token_id': text['vocab_size'] - 1, 'pad_token_id': text['vocab_size'] - 1,
                             'hidden_size': text['hidden_size'], 'num_layers_used': text['layers'],
                             'num_layers_in_file': text['layers'], 'num_heads': text['num_heads'],
                             'intermediate_size': text['intermediate_size'], 'hidden_act': text['hidden_act'],
                             'layer_norm_eps': 1e-05, 'max_position': text['max_position']},
            'vae': {**vae, 'scaling_factor': 0.18215, 'eps': 1e-06},
        }

    def token_rows(self, batch, generator):
        """[batch, 77] ids as a tokenizer would give them: begin, some words, end and padding."""
        vocabulary = self.shape['text_encoder']['vocab_size']
        length = self.shape['text_encoder']['max_position']
        ids = torch.full((batch, length), vocabulary - 1)
        ids[:, 0] = vocabulary - 2
        for row in ids:
            words = int(torch.randint(0, length - 1, (1,), generator=generator))
            row[1:1 + words] = torch.randint(0, vocabulary - 2, (words,), generator=generator)
        return ids


    def token_inputs(self, batch, generator):
        return {'input_ids': self.token_rows(batch, generator)}

    def sizes(self, batch, generator):
        return {}

    def adapter_inputs(self, generator):
        batch, height, width = self.shape['sample']
        return {'sample': torch.randn(batch, self.shape['vae']['z_channels'], height, width, generator=generator),
                'timesteps': torch.randint(0, 1000, (batch,), generator=generator),
                'context': torch.randn(batch, 77, self.shape['unet']['context_dim'], generator=generator),
                **self.token_inputs(batch, generator)}

    def adapter_outputs(self, inputs):
        return {'te_last': self.text(inputs['input_ids']).last_hidden_state,
                'unet_out': self.unet(inputs['sample'], inputs['timesteps'], inputs['context']).sample}

    def peft_parts(self):
        return (('lora_te', 'text_encoder', self.text), ('lora_unet', 'unet', self.unet))

    def make_trainer(self, args):
        import train_network
        from library import strategy_sd
        text = self.shape['text_encoder']
        end = text['vocab_size'] - 1
        tokenizer = SimpleNamespace(model_max_length=text['max_position'], pad_token_id=self.description()['text_encoder']['pad_token_id'],
                                    eos_token_id=end, eos_token='<|endoftext|>')
        return train_network.NetworkTrainer(), strategy_sd.SdTextEncodingStrategy(args.clip_skip), SimpleNamespace(tokenizer=tokenizer)


def check_names():
    """Our names against sd-scripts' own conversions, which know the published layout only."""
    from library import model_util
    import shapes
    model = Sd15(shapes.named('default')['sd15'], 0)
    theirs = {UNET_PREFIX + name for name in model_util.convert_unet_state_dict_to_sd(False, model.unet.state_dict())}
    theirs |= {VAE_PREFIX + name for name in model_util.convert_vae_state_dict(model.vae.state_dict())}
    ours = {name for name in model.file_tensors() if not name.startswith(TEXT_PREFIX)}
    if ours != theirs:
        raise SystemExit(f'names differ from sd-scripts: {sorted(ours ^ theirs)[:6]}')
