"""tokenizer/: CLIP ids, rows of 77 and weighted prompts by transformers' tokenizer as sd-scripts uses it."""
import random

from reference import clip_tokenizer, write_json

PLAIN = """a photo of portrait masterpiece best quality 1girl solo long hair looking at viewer red blue green cat dog house tree
river mountain sunset night rain city street cyberpunk watercolor oil painting detailed 8k 4K UHD sks ohwx zwx style by wearing
hat dress smiling standing sitting The A Of AND close-up wide-angle f/1.8 85mm 1990s don't it's they're we've I'm he'll she'd
e-mail u.s.a. v1.5 3d 2.5d 1920x1080 100% $5 #1 @user snake_case CamelCase""".split()
FOREIGN = """café naïve Ångström Łódź Straße İstanbul ñandú œuvre þorn Привет Київ красивый Ωμέγα καλημέρα 東京 美しい 景色
カタカナ ひらがな 한국어 풍경 高质量 風景 สวัสดี नमस्ते שלום مرحبا Tiếng Việt đẹp ᚠᚢᚦ ﬁne ｗｉｄｅ １２３ ½ x² №5 ™ © → ♥ ★ 😀 👩‍🎨 🇫🇷 ❤️ —
“quoted” ‘single’ it’s … «guillemets» ¡hola! ¿qué? `code` ~ ^ | \\ / <tag> &amp; &lt; &eacute; &#39; {a|b} [x] (y) ((z)) !!! ??? ,, ..
. , ; : ! ? ' " - _ = + * & %""".split()
MARKS = [', ', ' ', '  ', '. ', '\n', ' - ', ',', ' | ', '\t']


def draw_text(rng, count, foreign=0.25):
    words = [rng.choice(FOREIGN if rng.random() < foreign else PLAIN) for _ in range(count)]
    return ''.join(word + (rng.choice(MARKS) if rng.random() < 0.5 else ' ') for word in words)[:-1]


def draw_weighted(rng, depth=0):
    parts = []
    for _ in range(rng.randint(1, 4)):
        text = draw_text(rng, rng.randint(1, 3), 0.0)
        kind = rng.random()
        if kind < 0.3 and depth < 3:
            text = '(' + draw_weighted(rng, depth + 1) + rng.choice([')', f':{rng.choice([1.3, 0.5, 2, 0, -0.7, "+1.1", ".8"])})'])
        elif kind < 0.45 and depth < 3:
            text = '[' + draw_weighted(rng, depth + 1) + ']'
        elif kind < 0.55:
            text += rng.choice([r' \(x\)', r' \[y\]', ':', ' (', ' )', ']', '\\', r'\\', '[', ':1.2'])
        parts.append(text)
    return rng.choice([' ', ', ', '']).join(parts)


def ids_of(tokenizer, text):
    return tokenizer(text).input_ids[1:-1]


def write(folder, counts, seed):
    from library.custom_train_functions import parse_prompt_attention
    from library.strategy_base import TokenizeStrategy
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    sd1, sd2 = clip_tokenizer('<|endoftext|>'), clip_tokenizer('!')
    sdxl = clip_tokenizer('<|endoftext|>')
    sdxl.pad_token_id = 0  # as strategy_sdxl.py does
    strategy = TokenizeStrategy()

    rows = []
    for number in range(counts['ids']):
        text = rng.choice(FOREIGN) if number % 8 == 0 else draw_text(rng, rng.randint(1, 12))
        row = {'text': text, 'ids': ids_of(sd1, text)}
        if ids_of(sd2, text) != row['ids']:
            row['ids_pad_bang'] = ids_of(sd2, text)
        rows.append(row)
    write_json(folder / 'clip_ids.json', rows, None)

    rows = []
    for number in range(counts['chunks']):
        text = '' if number == 0 else draw_text(rng, rng.choice([1, 10, 40, 60, 75, 110, 180]), 0.05)
        for length in (None, 75, 150, 225):
            def encode(tokenizer):
                ids = strategy._get_input_ids(tokenizer, text, 77 if length is None else length + 2)
                return ids.reshape(-1, 77).tolist()
            row = {'text': text, 'max_token_length': length, 'sd1': encode(sd1)}
            pair = encode(sd2), encode(sdxl)
            row.update({'sd2_and_sdxl_te2': pair[0]} if pair[0] == pair[1] else {'sd2': pair[0], 'sdxl_te2': pair[1]})
            rows.append(row)
    write_json(folder / 'clip_chunks.json', rows, None)

    rows = []
    while len(rows) < counts['weighted']:
        text = draw_weighted(rng)
        row = {'text': text, 'parsed': parse_prompt_attention(text)}
        for name, tokenizer in (('sd1', sd1), ('sdxl_te2', sdxl)):
            for length in (75, 150):
                ids, weights = strategy._get_input_ids(tokenizer, text, length + 2, weighted=True)
                row[f'{name}_ids_{length}'] = ids.reshape(-1, 77).tolist()
                row[f'{name}_weights_{length}'] = weights.reshape(-1, 77).double().tolist()
        rows.append(row)
    write_json(folder / 'weighted.json', rows, None)
