"""Small random Stable Diffusion 2 models: as Stable Diffusion 1's, with open_clip's text encoder and linear projections.

sd-scripts turns the projections into 1x1 convolutions when it loads, so its U-Net and its LoRA files have those."""
import torch

import open_clip
from sd15_reference import Sd15, UNET_PREFIX

TEXT_PREFIX = 'cond_stage_model.model.'


class Sd2(Sd15):
    name = 'sd2'
    text_prefix = TEXT_PREFIX

    def text_tensors(self):
        return open_clip.tensors_of(self.text.named_parameters(), TEXT_PREFIX)

    def in_file(self, name, value):
        is_projection = name.startswith(UNET_PREFIX) and name.rsplit('.', 1)[0].endswith(('proj_in', 'proj_out'))
        return value[:, :, 0, 0] if is_projection and value.dim() == 4 else value

    def extra_tensors(self):
        """One layer more than is used, and what the whole model has besides: always there, as in published files."""
        generator = torch.Generator().manual_seed(7)
        text = self.shape['text_encoder']
        extra = {TEXT_PREFIX + 'logit_scale': torch.tensor(4.6),
                 TEXT_PREFIX + 'text_projection': torch.eye(text['hidden_size'])}
        last = text['layers'] - 1
        for name, entry in self.text_tensors().items():
            block = f'{TEXT_PREFIX}transformer.resblocks.{last}.'
            if name.startswith(block):
                shape = open_clip.value_of(entry).shape
                extra[name.replace(f'.{last}.', f'.{last + 1}.', 1)] = torch.randn(shape, generator=generator)
        return extra

    def token_rows(self, batch, generator):
        ids = super().token_rows(batch, generator)
        end = self.shape['text_encoder']['vocab_size'] - 1
        for row in ids:
            first = int((row == end).nonzero()[0]) if (row == end).any() else len(row)
            row[first + 1:] = 0  # padding
        return ids

    def description(self):
        found = super().description()
        found['prediction_type'] = self.shape['prediction_type']
        found['unet']['use_linear_projection'] = True
        found['text_encoder'].update(layout='open_clip', pad_token_id=0,
                                     num_layers_in_file=self.shape['text_encoder']['layers'] + 1)
        return found
