"""Where the sum over people is computed.

`blocks.read_rows` turns any kind of data into `Rows` that are read a block at a time; an engine (`local.LocalEngine`)
adds up an integer kernel over the blocks, with the same bits for every engine, block size and number of threads.
"""
