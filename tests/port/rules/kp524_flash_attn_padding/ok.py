from flash_attn import flash_attn_func
from mine.bert_padding import pad_input

NOTE = "from flash_attn.bert_padding import pad_input"
