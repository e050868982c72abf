#include "output/html_page.h"

#include <string.h>

/* FPERF_PAGE_FILE is the page as its build made it, or an empty file. */
__asm__(".pushsection .rodata\n"
	".global fperf_page_begin\n"
	".global fperf_page_end\n"
	"fperf_page_begin: .incbin \"" FPERF_PAGE_FILE "\"\n"
	"fperf_page_end: .byte 0\n"
	".popsection\n");

extern const char fperf_page_begin[], fperf_page_end[];

/* Stands in the page where the data goes. */
static const char mark[] = "<!--data-->";

struct fperf_html_page fperf_html_page(void)
{
	size_t size = (size_t)(fperf_page_end - fperf_page_begin);
	const char *data = memmem(fperf_page_begin, size, mark, sizeof(mark) - 1);
	struct fperf_html_page page = {0};

	if (!data)
		return page;
	page.before = fperf_page_begin;
	page.before_size = (size_t)(data - fperf_page_begin);
	page.after = data + sizeof(mark) - 1;
	page.after_size = size - page.before_size - (sizeof(mark) - 1);
	return page;
}
